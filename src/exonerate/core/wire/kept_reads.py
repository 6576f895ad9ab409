"""Keeps the reads of one answer while it comes, to be digested when it has ended.

See `stream_digest` for why: the load loop does no parsing while an answer comes. It keeps, for
each read, its bytes, the kernel's stamp and the time at which the loop woke up.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import TypeAlias

from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.read_times import ReadTimes

_TIMES = struct.Struct("@qq")
NO_STAMP = bytes(_TIMES.size)
"""Kept where the kernel gave none."""

Wake: TypeAlias = bytes
"""When the loop last found this socket empty, and when it woke to read it: see `wake_at`."""

wake_at: Callable[[int, int], Wake] = _TIMES.pack


class KeptReads:
    """The reads of one answer, in order.

    Keeping one is three appends to one list (several lists would each be a cache miss, a step of
    the engine later). Where very many lie loose they are packed into contiguous buffers.
    """

    __slots__ = ("blob", "ends", "loose", "stamped", "stamps", "wakes")

    def __init__(self) -> None:
        self.loose: list[bytes] = []
        """For each read its bytes, the kernel's `struct timespec`, and the wake; in turn."""
        self.blob = bytearray()
        """The bytes of the reads that are packed; they came before the loose ones."""
        self.ends = array("I")
        """Where each of them ends in `blob`."""
        self.stamps = bytearray()
        self.wakes = bytearray()
        self.stamped = True
        """Every read has a stamp of the kernel."""

    @property
    def empty(self) -> bool:
        """Not one byte has come."""
        return not self.loose and not self.wakes

    def keep(self, content: bytes, stamp: bytes, wake: Wake) -> None:
        """Keep one read."""
        self.loose += (content, stamp, wake)
        self.stamped &= stamp != NO_STAMP

    def note(self, stamp: bytes, wake: Wake) -> None:
        """Keep the times of a read whose bytes are read at once."""
        self.stamps += stamp
        self.wakes += wake
        self.stamped &= stamp != NO_STAMP

    def pack(self) -> None:
        """Put what lies loose into the buffers."""
        loose, packed = self.loose, len(self.blob)
        self.ends.extend([packed + end for end in accumulate(map(len, loose[::3]))])
        self.blob += b"".join(loose[::3])
        self.stamps += b"".join(loose[1::3])
        self.wakes += b"".join(loose[2::3])
        loose.clear()

    def number(self) -> int:
        """How many reads have their bytes kept."""
        return len(self.ends) + len(self.loose) // 3

    def byte_count(self) -> int:
        """How many bytes are kept."""
        return len(self.blob) + sum(map(len, self.loose[::3]))

    def piece(self, read: int) -> bytes:
        """The bytes of one read."""
        ends = self.ends
        if read >= len(ends):
            return self.loose[3 * (read - len(ends))]
        return bytes(self.blob[ends[read - 1] if read else 0 : ends[read]])

    def whole(self) -> bytes:
        """The bytes of all reads together."""
        loose = b"".join(self.loose[::3])
        return bytes(self.blob) + loose if self.blob else loose

    def contents(self) -> list[bytes]:
        """The bytes of each read."""
        ends = self.ends
        return [*map(self.piece, range(len(ends))), *self.loose[::3]] if ends else self.loose[::3]

    def forget_bytes(self) -> None:
        """The bytes were read; only the times are still needed."""
        self.pack()
        self.blob.clear()
        del self.ends[:]

    def last_stamp_ns(self, offset_ns: int) -> int:
        """The stamp of the last read on the monotonic clock; 0 where the kernel gave none."""
        stamp = self.loose[-2] if self.loose else bytes(self.stamps[-16:]) or NO_STAMP
        second, nanosecond = _TIMES.unpack(stamp)
        return second * NS_PER_S + nanosecond - offset_ns if second else 0

    def times(self, offset_ns: int) -> ReadTimes:
        """The times of all reads; the offset is that of the wall clock before the monotonic."""
        stamps, wakes = b"".join(self.loose[1::3]), b"".join(self.loose[2::3])
        if self.wakes:
            stamps, wakes = bytes(self.stamps) + stamps, bytes(self.wakes) + wakes
        return ReadTimes(stamps, wakes, offset_ns=offset_ns, from_kernel=self.stamped)
