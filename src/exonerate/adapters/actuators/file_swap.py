"""Replaces a file by other bytes, all or nothing, and only if it is what it was believed to be.

Theory of operation
-------------------
1. Find the real file. Refuse what a rename would break: a link that leads elsewhere, a file with
   a second name, anything that is not a regular file, a mount point.
2. Lock it (`file_lock`), read bytes and metadata through one descriptor.
3. Keep a backup outside, and read it back.
4. Stage the new bytes beside it with the same owner, mode and attributes, synced to the disk.
5. Exchange the two names in one step. What comes out must be what was read in step 2; if somebody
   edited it meanwhile, exchange back, so that the edit stays.
6. Sync the folder, look at the displaced file once more, remove it.

A kill at any point leaves the old or the new bytes, whole, with the right owner and mode. What it
leaves beside the file is found by the next run: `*.staged` is ours and is removed, `*.sealed` may
hold an edit that was displaced, so it is looked at first.

`checkpoint` is called with a name after each step, so that a test can kill the process there.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from exonerate.adapters.actuators.file_backup import BackupStore
from exonerate.adapters.actuators.file_lock import sidecar_lock
from exonerate.adapters.actuators.file_metadata import Metadata, give_metadata, metadata_of
from exonerate.adapters.actuators.rename_exchange import exchange_names, is_unsupported
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import SwapFile
from exonerate.errors import ExonerateError

Checkpoint: TypeAlias = Callable[[str], None]

CHECKPOINTS = (
    *("locked", "read", "kept", "staged", "sealed", "exchanged", "checked", "synced", "removed"),
)
SIZE_MAX_BYTES = 16 << 20


class SwapRefused(Exception):
    """The file was not exchanged; `untouched` says whether it is surely as it was."""

    def __init__(self, why: str, *, untouched: bool = True) -> None:
        super().__init__(why)
        self.untouched = untouched


async def swap_file(
    activity: SwapFile, *, read_blob: Callable[[str], bytes], swapper: FileSwapper
) -> tuple[str, JsonObject]:
    """Perform the activity; returns the kind and data of its event.

    It runs on the event loop's thread on purpose: a cancellation cannot cut it in two.
    """
    try:
        target = read_blob(activity.target_sha256)
        method = swapper.swap(Path(activity.path), activity.expected_sha256, target)
    except ExonerateError as problem:
        # The bytes are not to be had from the ledger.
        return "failed", {"path": activity.path, "why": problem.problem, "file": "unchanged"}
    except SwapRefused as refusal:
        state = "unchanged" if refusal.untouched else "unknown"
        return "failed", {"path": activity.path, "why": str(refusal), "file": state}
    return "swapped", {
        "path": activity.path,
        "from_sha256": activity.expected_sha256,
        "to_sha256": activity.target_sha256,
        "method": method,
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """The file as it was read: bytes, their hash, and what goes with them."""

    content: bytes
    sha256: str
    metadata: Metadata


class FileSwapper:
    """Swaps files; `allowed` are folders that a symbolic link may lead to."""

    def __init__(
        self,
        *,
        store: BackupStore,
        allowed: tuple[Path, ...] = (),
        checkpoint: Checkpoint = lambda _: None,
    ) -> None:
        self._store = store
        self._allowed = allowed
        self._checkpoint = checkpoint

    def swap(self, path: Path, expected_sha256: str, target: bytes) -> str:
        """Exchange the file and return how (`exchange`, `replace`, `already`).

        Raises:
            SwapRefused: it was not done, and why.
        """
        try:
            real = self._real_file(path)
            with sidecar_lock(real):
                self._checkpoint("locked")
                return self._swap_locked(real, expected_sha256, target)
        except OSError as error:
            untouched = _still_has(path, expected_sha256)
            raise SwapRefused(_words(path, error), untouched=untouched) from error

    def _swap_locked(self, real: Path, expected_sha256: str, target: bytes) -> str:
        target_sha256 = _sha256(target)
        self._clear_leftovers(real, expected_sha256, target_sha256)
        seen = _read(real)
        self._checkpoint("read")
        if seen.sha256 == target_sha256:
            return "already"
        if seen.sha256 != expected_sha256:
            raise SwapRefused(
                f"`{real}` is not what it was when the change was planned: somebody edited it"
            )
        self._store.keep(real, seen.content, seen.metadata)
        self._checkpoint("kept")
        sealed = self._staged(real, target, seen.metadata)
        try:
            method = self._exchanged(real, sealed, seen)
        except BaseException:
            # Only our own bytes are removed; after a failed way back the edit stays beside it.
            if sealed.exists() and _hash_of(sealed) == target_sha256:
                sealed.unlink()
            raise
        self._checkpoint("removed")
        return method

    def _real_file(self, path: Path) -> Path:
        real = path.resolve(strict=True)
        folders = (path.parent.resolve(), *(folder.resolve() for folder in self._allowed))
        if not any(real.is_relative_to(folder) for folder in folders):
            raise SwapRefused(f"`{path}` is a link that leads out of its folder, to `{real}`")
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SwapRefused(f"`{real}` is not a regular file")
        if status.st_nlink > 1:
            raise SwapRefused(f"`{real}` has {status.st_nlink} names; a swap would part them")
        if status.st_size > SIZE_MAX_BYTES:
            raise SwapRefused(f"`{real}` is larger than {SIZE_MAX_BYTES >> 20} MiB")
        if _is_mount_point(real):
            raise SwapRefused(f"`{real}` is a mount point, so it cannot be replaced")
        return real

    def _clear_leftovers(self, real: Path, expected_sha256: str, target_sha256: str) -> None:
        """Remove what a killed run left; an edit that it displaced goes back to its place."""
        for staged in _beside(real, "staged"):
            staged.unlink()
        for sealed in _beside(real, "sealed"):
            found = _hash_of(sealed)
            ours = found in (expected_sha256, target_sha256) or self._store.has(real, found)
            if not ours and _hash_of(real) == target_sha256:
                exchange_names(real, sealed)
            elif not ours:
                raise SwapRefused(
                    f"`{sealed}` holds an edit that an earlier run displaced;"
                    " compare it with the file and remove it"
                )
            sealed.unlink()

    def _staged(self, real: Path, target: bytes, metadata: Metadata) -> Path:
        """The new bytes beside the file, complete and synced; named `sealed` only then."""
        token = secrets.token_hex(4)
        staged = real.with_name(f".{real.name}.exonerate-{token}.staged")
        try:
            _write_new(staged, target, metadata)
        except OSError:
            staged.unlink(missing_ok=True)
            raise
        self._checkpoint("staged")
        sealed = staged.with_suffix(".sealed")
        staged.rename(sealed)
        self._checkpoint("sealed")
        return sealed

    def _exchanged(self, real: Path, sealed: Path, seen: _Seen) -> str:
        try:
            exchange_names(real, sealed)
        except OSError as error:
            if is_unsupported(error):
                return self._replaced(real, sealed, seen)
            raise
        try:
            self._checkpoint("exchanged")
            _refuse_edited(sealed, seen)
            self._checkpoint("checked")
            _sync_folder(real.parent)
            self._checkpoint("synced")
            # A process that had the old file open may have written to it since.
            _refuse_edited(sealed, seen)
        except (OSError, SwapRefused) as failure:
            _back(real, sealed, failure)
            raise
        sealed.unlink()
        _sync_folder(real.parent)
        return "exchange"

    def _replaced(self, real: Path, sealed: Path, seen: _Seen) -> str:
        """Where names cannot be exchanged: an edit between the check and the rename is lost."""
        _refuse_edited(real, seen)
        sealed.replace(real)
        self._checkpoint("exchanged")
        _sync_folder(real.parent)
        return "replace"


def _back(real: Path, sealed: Path, failure: Exception) -> None:
    try:
        exchange_names(real, sealed)
        _sync_folder(real.parent)
    except OSError as error:
        raise SwapRefused(
            f"{failure}; and the way back failed: {error}", untouched=False
        ) from error


def _refuse_edited(path: Path, seen: _Seen) -> None:
    if _hash_of(path) != seen.sha256:
        raise SwapRefused("somebody edited the file at the same moment; the edit was kept")


def _read(real: Path) -> _Seen:
    descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(SIZE_MAX_BYTES + 1)
        return _Seen(content, _sha256(content), metadata_of(stream.fileno()))


def _write_new(path: Path, content: bytes, metadata: Metadata) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        give_metadata(stream.fileno(), metadata)
        os.fsync(stream.fileno())


def _beside(real: Path, stage: str) -> list[Path]:
    head, tail = f".{real.name}.exonerate-", f".{stage}"
    found = real.parent.iterdir()
    return [path for path in found if path.name.startswith(head) and path.name.endswith(tail)]


def _is_mount_point(real: Path) -> bool:
    """A bind mount of a file has the device of its source, so only the mount table tells."""
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        # Blanks and backslashes stand as octal escapes there (proc_pid_mountinfo(5)).
        point = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), line.split()[4])
        if point == os.fsencode(real):
            return True
    return False


def _still_has(path: Path, sha256: str) -> bool:
    """Whether the file surely has these bytes; a missing or unreadable one was not ours to lose."""
    try:
        return _hash_of(path) == sha256
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _hash_of(path: Path) -> str:
    return _sha256(path.read_bytes())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _words(path: Path, error: OSError) -> str:
    return f"`{path}`: {error.strerror or error}"
