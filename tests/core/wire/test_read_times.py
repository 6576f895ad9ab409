"""The times of an answer in lanes against the same numbers reckoned one by one."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import repeat

from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.kept_reads import NO_STAMP, wake_at
from exonerate.core.wire.read_times import ReadTimes, gaps_one_by_one

OFFSET_NS = 1_790_000_000_000_000_000
BEGUN_NS = 10**12

steps_ns = st.one_of(
    st.integers(0, 30_000_000),
    st.integers(-2_000_000_000, 2_000_000_000),
    st.sampled_from([0, 999_999_999, 2**32 - 1, 2**32, 5_000_000_000]),
)
late_ns = st.one_of(st.integers(0, 20_000_000), st.integers(-(10**6), 3 * 10**8))


def stamp_of(monotonic_ns: int) -> bytes:
    """The kernel's `struct timespec` of a moment."""
    return struct.pack("@qq", *divmod(monotonic_ns + OFFSET_NS, 10**9))


empty_ns = st.one_of(st.integers(-(10**6), 20_000_000), st.integers(0, 5 * 10**9))


def times_of(stamps_ns: list[int], late: list[int], empty: Iterable[int] = repeat(5)) -> ReadTimes:
    """The times of reads with these stamps, read so much later, found empty so much earlier."""
    wakes = [
        wake_at(stamp - before, stamp + after)
        for stamp, after, before in zip(stamps_ns, late, empty, strict=False)
    ]
    return ReadTimes(
        b"".join(map(stamp_of, stamps_ns)),
        b"".join(wakes),
        offset_ns=OFFSET_NS,
        from_kernel=True,
    )


@given(st.lists(st.tuples(steps_ns, late_ns, empty_ns), max_size=40), st.data())
def test_lanes_say_what_plain_arithmetic_says(
    reads: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    """Stamps, gaps and lateness are exact, whatever the clocks did between two reads."""
    stamps, now = [], BEGUN_NS
    for step, _, _ in reads:
        now += step
        stamps.append(now)
    late = [one for _, one, _ in reads]
    times = times_of(stamps, late, [before for _, _, before in reads])
    assert [times.at(read) for read in range(times.number)] == stamps
    first = data.draw(st.integers(0, len(stamps)))
    span = range(first, data.draw(st.integers(first, len(stamps))))
    expected = gaps_one_by_one([stamps[read] for read in span], BEGUN_NS)
    assert times.gaps_ns(span, BEGUN_NS) == expected
    assert times.gaps_ns(list(span), BEGUN_NS) == expected
    several = sorted(data.draw(st.lists(st.sampled_from(span), max_size=9))) if span else []
    assert times.gaps_ns(several, BEGUN_NS) == gaps_one_by_one(
        [stamps[read] for read in several], BEGUN_NS
    )
    row = range(first, span.stop)
    assert times.spans_of_neighbours_ns(row) == times.spans_ns(row)
    lateness, most = times.lateness_us()
    assert list(lateness) == [min(max(0, one // 1000), 65535) for one in late]
    true_most = max([0, *[one // 1000 for one in late]])
    assert most == (true_most if true_most > 65535 else 0)


def test_a_gap_of_more_than_four_seconds_is_kept_whole() -> None:
    """A stall longer than 32 bits of nanoseconds is recorded as long as it was."""
    times = times_of([BEGUN_NS + 1, BEGUN_NS + 1 + 6 * 10**9], [0, 0])
    gaps = times.gaps_ns(range(2), BEGUN_NS)
    assert gaps.typecode == "Q"
    assert list(gaps) == [1, 6 * 10**9]


def test_a_wall_clock_that_steps_back_is_no_negative_gap() -> None:
    """An event whose stamp lies before the one before it counts as coming at once."""
    times = times_of([BEGUN_NS + 100, BEGUN_NS + 40, BEGUN_NS + 50], [0, 0, 0])
    assert list(times.gaps_ns(range(3), BEGUN_NS)) == [100, 0, 10]


def test_reads_without_stamps_fall_back_to_the_time_of_the_read() -> None:
    """Where the kernel gave none, the reads' own times are used and none is late."""
    wakes = wake_at(5, 9) + wake_at(9, 12)
    times = ReadTimes(NO_STAMP * 2, wakes, offset_ns=OFFSET_NS, from_kernel=False)
    assert [times.at(0), times.at(1)] == [9, 12]
    assert list(times.lateness_us()[0]) == [0, 0]


def test_bytes_came_after_the_last_empty_poll_and_after_the_read_before() -> None:
    """The bounds of an event that shares its read are the later of the two."""
    wakes = wake_at(100, 500) + wake_at(900, 2000)
    times = ReadTimes(stamp_of(300) + stamp_of(1500), wakes, offset_ns=OFFSET_NS, from_kernel=True)
    assert times.spans_ns([0, 1]) == [200, 600]
