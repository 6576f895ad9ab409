"""The clocks and the way from the kernel's stamps to them."""

from __future__ import annotations

import time
from datetime import datetime

from exonerate.adapters.clock import StampClock, SystemClock, read_offset_ns

OFF_NS = 20_000_000
"""By how much a reading of two clocks may be wrong on a machine that stood still between them."""


def test_now_is_the_monotonic_clock() -> None:
    """Stamps of this process compare with those of any other on this machine."""
    before = time.monotonic_ns()
    now = SystemClock().now()
    assert before <= now <= time.monotonic_ns()


def test_wall_is_utc_with_microseconds() -> None:
    """The label reads back as a UTC time."""
    wall = datetime.fromisoformat(SystemClock().wall())
    assert wall.utcoffset() is not None
    assert abs(wall.timestamp() - time.clock_gettime(time.CLOCK_REALTIME)) < 5


def test_wall_stamps_become_monotonic() -> None:
    """A wall stamp converts to a monotonic time between the looks before and behind it."""
    stamps = StampClock()
    before_ns = time.monotonic_ns()
    wall_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
    behind_ns = time.monotonic_ns()
    assert before_ns - OFF_NS <= stamps.monotonic_ns(wall_ns) <= behind_ns + OFF_NS


def test_a_step_of_the_wall_clock_is_counted() -> None:
    """An offset that jumps between two readings is a step; the new one is used."""
    before_ns = time.monotonic_ns()
    stamps = StampClock()
    stamps.offset_ns += 10 * OFF_NS
    stamps.resync(before_ns)
    assert stamps.steps == 0
    stamps.resync(time.monotonic_ns() + 2_000_000_000)
    assert stamps.steps == 1
    assert abs(stamps.offset_ns - read_offset_ns()) < 2 * OFF_NS
