"""Ends every process of a play, whatever happens to the one that directs it.

    with guarded(folder): ...

Services that Exonerate starts are meant to outlive the command that started them; those of a demo
are not. Everything started inside carries a mark in its environment, through any number of
restarts and grandchildren. The guard is a process of its own that reads a pipe whose write end only
the director holds: when the director leaves, or dies even by SIGKILL, the guard kills whatever
carries the mark and removes the folder it was given.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "EXONERATE_PLAY"
"""The variable that every process of a play inherits."""
ROUNDS, ROUND_S = 40, 0.05
"""A process may be started by another one while the table is read, so it is read again."""
GUARD_WAIT_S = 60.0


@contextmanager
def guarded(folder: Path | None = None) -> Iterator[None]:
    """Mark what is started inside; on leaving it is gone, and so is the folder."""
    mark = secrets.token_hex(16)
    guard = _guard(mark, folder)
    outer = os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        if outer is None:
            os.environ.pop(MARK, None)
        else:
            os.environ[MARK] = outer
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait(GUARD_WAIT_S)


def _guard(mark: str, folder: Path | None) -> subprocess.Popen[bytes]:
    # Isolated: neither the folder we happen to be in nor PYTHONPATH decides what it runs.
    command = [sys.executable, "-I", "-S", __file__, mark, *([str(folder)] if folder else [])]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # Ctrl-C in the terminal does not reach it
    )


def kill_marked(mark: str) -> None:
    """Kill every process of this user whose environment holds the mark."""
    wanted = f"{MARK}={mark}".encode()
    for _ in range(ROUNDS):
        marked = [pid for pid in _pids() if wanted in _environment(pid)]
        if not marked:
            return
        for pid in marked:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_S)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    """The variables of a process; none where it is gone, a zombie or another user's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def main(arguments: list[str]) -> None:
    """Wait for the director to go, then clear the stage."""
    sys.stdin.buffer.read()
    mark, *folders = arguments
    kill_marked(mark)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
