"""When the reads of one answer came and how late they were read, reckoned for all of them at once.

The times of an answer are columns of 64-bit numbers. A Python integer of many digits is used as
such a column, a *lane* of 64 bits for each number: one addition, subtraction or multiplication
then does all lanes in C, which costs a fifth of a loop over objects and needs no numpy (the load
worker must stay small). Nothing may be borrowed from one lane by its neighbour, so before a
subtraction `_BIAS` is added to each lane; where a result is not what a lane can show
(a clock that stepped back, a gap of more than four seconds, a very late read), the numbers
are reckoned one by one instead. Tests hold both ways against each other.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, repeat
from operator import sub
from typing import overload

from exonerate.core.instant import NS_PER_S

U16_MAX = 0xFFFF
U32_MAX = 0xFFFFFFFF
_LANE_BITS, _LANE_BYTES = 64, 8
_BIAS_BIT = 62
_BIAS = 1 << _BIAS_BIT
_BIAS_HIGH_WORD = (_BIAS >> 32).to_bytes(4, "little")

_SOON_NS = 1 << 25
"""Reads that are less late than this (33 ms) are reckoned in lanes."""
_NOT_SOON = (1 << _LANE_BITS) - _SOON_NS

_PER_1000, _PER_1000_SHIFT = 68_719_477, 36
"""x * 68719477 >> 36 is x // 1000 for every x below 2**26: the product of the error (264) and x
stays below 2**36 (Granlund and Montgomery, 1994, theorem 4.2)."""


class EventsOfReads(Sequence[int]):
    """The read of each event, for neighbouring reads that brought so many events each."""

    __slots__ = ("counts", "events", "reads")

    def __init__(self, reads: range, counts: Sequence[int]) -> None:
        self.reads = reads
        self.counts = counts
        """One or more for each read."""
        self.events = sum(counts)

    def __len__(self) -> int:
        return self.events

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(map(repeat, self.reads, self.counts))

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        return self.reads.start if at == 0 else list(self)[at]


def in_a_row(read_of_event: Sequence[int]) -> range | EventsOfReads | None:
    """The same, where each read from the first to the last brought an event; else None."""
    if isinstance(read_of_event, range | EventsOfReads):
        return read_of_event
    counts = Counter(read_of_event)
    if not counts or len(counts) != read_of_event[-1] - read_of_event[0] + 1:
        return None
    reads = range(read_of_event[0], read_of_event[-1] + 1)
    one_by_one = len(counts) == len(read_of_event)
    return reads if one_by_one else EventsOfReads(reads, list(counts.values()))


class ReadTimes:
    """The reads' stamps on the monotonic clock, and what follows from them.

    `stamps` holds a `struct timespec` of wall-clock time for each read, `wakes` two 64-bit numbers
    of monotonic nanoseconds: when its socket was last found empty, and when it was read. Where
    not every read has a kernel's stamp (`from_kernel`), the times of the reads are used.
    """

    __slots__ = ("_offset_ns", "_timespecs", "_wakes", "_wall", "number")

    def __init__(self, stamps: bytes, wakes: bytes, *, offset_ns: int, from_kernel: bool) -> None:
        self._offset_ns = offset_ns
        self._wakes = array("q", wakes)
        self.number = len(self._wakes) // 2
        """How many reads there were."""
        self._timespecs = array("q", stamps) if from_kernel else None
        timespecs = self._timespecs
        if timespecs is not None:
            self._wall = _lanes(timespecs[::2]) * NS_PER_S + _lanes(timespecs[1::2])
        else:
            self._wall = _lanes(self._wakes[1::2]) + offset_ns * _in_each(1, self.number)

    def at(self, read: int) -> int:
        """The stamp of one read."""
        timespecs = self._timespecs
        if timespecs is None:
            return self._wakes[2 * read + 1]
        return timespecs[2 * read] * NS_PER_S + timespecs[2 * read + 1] - self._offset_ns

    def _wall_ns(self) -> array[int]:
        """The stamps as the kernel gave them."""
        return array("q", self._wall.to_bytes(_LANE_BYTES * self.number, "little"))

    def spans_ns(self, reads: Sequence[int]) -> list[int]:
        """For each of these reads, how long before its stamp the first of its bytes may have come.

        That is since its socket was last found empty, and since the stamp of the read before.
        """
        wall, polled, offset = self._wall_ns(), self._wakes[::2], self._offset_ns
        return [
            max(0, wall[read] - max(polled[read] + offset, wall[read - 1] if read else offset))
            for read in reads
        ]

    def spans_of_neighbours_ns(self, reads: range) -> list[int]:
        """The same for reads that follow one another."""
        found = self._spans_in_lanes(reads) if reads.start else None
        return self.spans_ns(reads) if found is None else found.tolist()

    def gaps_ns(self, read_of_event: Sequence[int], begun_ns: int) -> array[int]:
        """From each event to the next, given the read that brought it; first from `begun_ns`."""
        row = in_a_row(read_of_event)
        counts = row.counts if isinstance(row, EventsOfReads) else None
        reads = row.reads if isinstance(row, EventsOfReads) else row
        gaps = self._gaps_of_neighbours(reads, begun_ns) if reads else None
        if gaps is not None:
            return gaps if counts is None else _shared(gaps, counts)
        return gaps_one_by_one([self.at(read) for read in read_of_event], begun_ns)

    def lateness_us(self) -> tuple[array[int], int]:
        """For each read how long after its stamp it was read, 65535 being "or more".

        Also the most of them, where 16 bits do not hold it, else 0. Bytes that came while the loop
        was already reading are not late.
        """
        number = self.number
        read_at = _lanes(self._wakes[1::2]) + self._offset_ns * _in_each(1, number)
        late_ns = _or_nothing(read_at + _in_each(_BIAS, number) - self._wall, number)
        if late_ns & _in_each(_NOT_SOON, number):
            return self._lateness_one_by_one()
        # The quotient is moved to the upper half of its lane, where it has 16 bits to itself.
        quotients = late_ns * _PER_1000 >> (_PER_1000_SHIFT - 32)
        return array("H", quotients.to_bytes(_LANE_BYTES * number, "little"))[2::4], 0

    def _spans_in_lanes(self, reads: range) -> array[int] | None:
        """Since the later of two moments; None where one of these spans is out of bounds."""
        number = len(reads)
        all_bits = (1 << _LANE_BITS * number) - 1
        bias = _in_each(_BIAS, number)
        stamps = self._wall >> _LANE_BITS * reads.start & all_bits
        before = self._wall >> _LANE_BITS * (reads.start - 1) & all_bits
        polled = _lanes(self._wakes[2 * reads.start : 2 * reads.stop : 2])
        polled += self._offset_ns * _in_each(1, number)
        later = before + _or_nothing(polled + bias - before, number)
        return _within(_or_nothing(stamps + bias - later, number) + bias, number)

    def _gaps_of_neighbours(self, reads: range, begun_ns: int) -> array[int] | None:
        """The gaps of events that came with a read each; None where one is out of bounds."""
        number = len(reads)
        all_bits = (1 << _LANE_BITS * number) - 1
        stamps = self._wall >> _LANE_BITS * reads.start & all_bits
        before = (stamps << _LANE_BITS | begun_ns + self._offset_ns) & all_bits
        return _within(stamps + _in_each(_BIAS, number) - before, number)

    def _lateness_one_by_one(self) -> tuple[array[int], int]:
        late_us = [
            (read_ns + self._offset_ns - stamp) // 1000
            for read_ns, stamp in zip(self._wakes[1::2], self._wall_ns(), strict=True)
        ]
        most_us = max(late_us)
        kept = array("H", [min(max(0, late), U16_MAX) for late in late_us])
        return kept, most_us if most_us > U16_MAX else 0


def gaps_one_by_one(arrivals: list[int], begun_ns: int) -> array[int]:
    """The gaps between any arrivals; a step back of the wall clock counts as none."""
    gaps = [max(0, gap) for gap in map(sub, arrivals, [begun_ns, *arrivals])]
    return array("Q" if max(gaps, default=0) > U32_MAX else "I", gaps)


def _shared(gaps: array[int], counts: Sequence[int]) -> array[int]:
    """The same gaps with a zero for each event that came in the read of the one before."""
    spread = array("I", bytes(gaps.itemsize * sum(counts)))
    for first, gap in zip(accumulate(counts, initial=0), gaps, strict=False):
        spread[first] = gap
    return spread


def _within(biased: int, number: int) -> array[int] | None:
    """The lanes without their bias, each in 32 bits; None where one is not in these bounds."""
    words = array("I", biased.to_bytes(_LANE_BYTES * number, "little"))
    return words[::2] if words[1::2].tobytes() == _BIAS_HIGH_WORD * number else None


def _or_nothing(biased: int, number: int) -> int:
    """The lanes without their bias, and nothing in those that would be negative."""
    positive = biased >> _BIAS_BIT & _in_each(1, number)
    return biased & (positive << _BIAS_BIT) - positive


def _lanes(numbers: array[int]) -> int:
    return int.from_bytes(numbers.tobytes(), "little")


@lru_cache(maxsize=512)
def _in_each(value: int, number: int) -> int:
    """The same value in each lane."""
    return int.from_bytes(value.to_bytes(_LANE_BYTES, "little") * number, "little")
