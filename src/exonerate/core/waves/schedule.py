"""How long a launch takes: CTAs in order, each to the slot that is free first.

For equal CTAs this is the wave formula, `ceil(CTAs / slots) x work`; for ragged work it is what
the hardware's dispatcher does. Memory bandwidth is shared: when more than `saturating` CTAs run,
all of them slow down alike. Because they slow down alike, who finishes first does not change, so
the schedule is made in undisturbed time and stretched afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.waves.partition import Run


@dataclass(frozen=True, slots=True)
class Schedule:
    """`time` in KV tokens of one undisturbed CTA; `busy` is the share of slot time used."""

    time: float
    busy: float


def schedule(
    runs: Sequence[Run], slots: int, *, tokens_per_cta: float = 0.0, saturating: float | None = None
) -> Schedule:
    """Play the launch; `tokens_per_cta` is fixed work that each CTA adds to its share."""
    assert slots >= 1
    free = [(0.0, slots)]
    activity: list[tuple[float, float, int]] = []
    for run in runs:
        _place(free, run.count, run.tokens + tokens_per_cta, activity)
    makespan = max(begin for begin, _ in free)
    work = sum(run.count * (run.tokens + tokens_per_cta) for run in runs)
    busy = work / (slots * makespan) if makespan else 1.0
    if saturating is None or saturating >= slots:
        return Schedule(makespan, min(1.0, busy))
    return Schedule(_stretched(activity, saturating), min(1.0, busy))


def _place(
    free: list[tuple[float, int]], count: int, work: float, activity: list[tuple[float, float, int]]
) -> None:
    while count:
        begin, slots = heapq.heappop(free)
        while free and free[0][0] == begin:
            slots += heapq.heappop(free)[1]
        # With every slot free at once, whole waves can be placed in one step.
        waves = max(1, count // slots) if not free else 1
        placed = min(slots, count)
        heapq.heappush(free, (begin + waves * work, placed))
        if placed < slots:
            heapq.heappush(free, (begin, slots - placed))
        activity.append((begin, begin + waves * work, placed))
        count -= placed * waves


def _stretched(activity: Sequence[tuple[float, float, int]], saturating: float) -> float:
    """The time that the activity takes when running CTAs share the memory's bandwidth."""
    changes: dict[float, int] = {}
    for begin, end, count in activity:
        changes[begin] = changes.get(begin, 0) + count
        changes[end] = changes.get(end, 0) - count
    time, running, last = 0.0, 0, 0.0
    for now in sorted(changes):
        time += (now - last) * max(1.0, running / saturating)
        running, last = running + changes[now], now
    return time
