"""Time as the core sees it: whole nanoseconds on one monotonic clock."""

from __future__ import annotations

from typing import NewType

Instant = NewType("Instant", int)
"""Nanoseconds on the monotonic clock of the process that stamped them."""

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


def seconds_between(earlier: int, later: int) -> float:
    """Seconds from one stamp to a later one (negative when they are in the other order)."""
    return (later - earlier) / NS_PER_S
