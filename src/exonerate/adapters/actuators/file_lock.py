"""A lock on a file that is going to be replaced: `flock` on a sidecar beside it.

Not on the file itself, because its inode changes. The kernel lets go when the holder dies, so a
sidecar that a kill left behind is taken over and removed by the next holder.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ATTEMPTS_MAX = 5


class LockHeld(OSError):
    """Another process is changing the file now."""


@contextmanager
def sidecar_lock(target: Path) -> Iterator[None]:
    """Hold the lock of `target` inside the block; raises LockHeld at once when it is taken."""
    path = target.with_name(f".{target.name}.exonerate.lock")
    descriptor = _taken(path)
    try:
        yield
    finally:
        # Removed while it is still held: whoever opened it meanwhile sees that it is gone.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(path: Path) -> int:
    for _ in range(ATTEMPTS_MAX):
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise LockHeld(f"another process is changing the file (`{path}` is locked)") from error
        if _is_current(path, descriptor):
            return descriptor
        os.close(descriptor)
    raise LockHeld(f"`{path}` is locked and released again and again")


def _is_current(path: Path, descriptor: int) -> bool:
    """False when the holder before removed the sidecar that was opened here."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
