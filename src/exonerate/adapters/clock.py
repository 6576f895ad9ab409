"""The clocks of this machine, and the way from the kernel's receive stamps to the monotonic one.

The kernel stamps received bytes with the wall clock (`SO_TIMESTAMPNS`, socket(7)). `StampClock`
reads both clocks back to back, at the start and again every second, and converts by the offset
between them; an offset that jumps is a step of the wall clock and is counted.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from exonerate.core.instant import NS_PER_MS, NS_PER_S, Instant

RESYNC_NS = NS_PER_S
STEP_NS_MIN = NS_PER_MS
"""A smaller change of the offset is slewing, not a step."""

_TRIES = 3


class SystemClock:
    """The monotonic clock of the machine, shared by all its processes."""

    def now(self) -> Instant:
        """Monotonic nanoseconds."""
        return Instant(time.monotonic_ns())

    def wall(self) -> str:
        """UTC wall time, ISO 8601 with microseconds."""
        seconds = time.clock_gettime_ns(time.CLOCK_REALTIME) / NS_PER_S
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


class StampClock:
    """Converts kernel stamps (wall nanoseconds) to monotonic nanoseconds."""

    def __init__(self) -> None:
        self.steps = 0
        self.offset_ns = read_offset_ns()
        self._synced_ns = time.monotonic_ns()

    def resync(self, now_ns: int) -> None:
        """Read both clocks again if a second has passed."""
        if now_ns - self._synced_ns < RESYNC_NS:
            return
        offset_ns = read_offset_ns()
        if abs(offset_ns - self.offset_ns) >= STEP_NS_MIN:
            self.steps += 1
        self.offset_ns = offset_ns
        self._synced_ns = now_ns

    def monotonic_ns(self, wall_ns: int) -> int:
        """The monotonic time of a kernel stamp."""
        return wall_ns - self.offset_ns


def read_offset_ns() -> int:
    """Wall clock minus monotonic clock, from the tightest of a few readings."""
    best_width, best_offset = NS_PER_S, 0
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.monotonic_ns()
        if after - before < best_width:
            best_width, best_offset = after - before, wall - (before + after) // 2
    return best_offset
