"""Reads what is appended to a log file: the offset kept, rotation followed, bytes bounded.

Rules
-----
1. The first reading begins at the end of the file: older lines are none of our business.
2. A file that was renamed away is read to its end before the new one is begun; one that became
   shorter was emptied, and is read from its start.
3. At most `bytes_max` are read at a time; what is more is skipped at its beginning and counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LINE_BYTES_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class Appended:
    """New whole lines, and how many bytes were passed over."""

    lines: tuple[str, ...]
    skipped_bytes: int = 0


class LogReader:
    """One log file, followed."""

    def __init__(self, path: Path, *, bytes_max: int) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._file: BinaryIO | None = None
        self._identity: tuple[int, int] | None = None
        self._place = 0
        self._rest = b""

    def begin(self) -> None:
        """Take the end of the file for the beginning; go on where it was closed before.

        Raises:
            OSError: the file cannot be read.
        """
        if self._file is not None:
            return
        self._file = self._path.open("rb")
        identity = _identity(self._file)
        if self._identity is None:
            self._place = self._file.seek(0, os.SEEK_END)
        elif identity != self._identity:
            self._place, self._rest = 0, b""
        self._identity = identity

    def close(self) -> None:
        """Give the file back, and remember the place."""
        if self._file is not None:
            self._identity = _identity(self._file)
            self._file.close()
            self._file = None

    def appended(self) -> Appended:
        """Every whole line since the last reading.

        Raises:
            OSError: the file cannot be read any more.
        """
        assert self._file is not None
        lines, skipped = self._take(self._file)
        newer = self._newer()
        if newer is not None:
            self._file.close()
            self._file, self._place, self._rest = newer, 0, b""
            more, more_skipped = self._take(newer)
            lines, skipped = [*lines, *more], skipped + more_skipped
        return Appended(tuple(lines), skipped)

    def _newer(self) -> BinaryIO | None:
        """The file that now has the name, if it is another one."""
        assert self._file is not None
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return None  # between rename and creation
        if (named.st_dev, named.st_ino) == _identity(self._file):
            return None
        return self._path.open("rb")

    def _take(self, file: BinaryIO) -> tuple[list[str], int]:
        size = os.fstat(file.fileno()).st_size
        if size < self._place:
            self._place, self._rest = 0, b""
        skipped = max(0, size - self._place - self._bytes_max)
        if skipped:
            # The piece of a line at which the reading now begins is no line.
            self._place, self._rest = self._place + skipped, b""
        file.seek(self._place)
        content = file.read(size - self._place)
        self._place += len(content)
        pieces = (self._rest + content).split(b"\n")
        self._rest = pieces.pop()[-LINE_BYTES_MAX:]
        if skipped and pieces:
            skipped += len(pieces.pop(0))
        return [piece.decode("utf-8", "replace").rstrip("\r") for piece in pieces], skipped


def _identity(file: BinaryIO) -> tuple[int, int]:
    held = os.fstat(file.fileno())
    return held.st_dev, held.st_ino
