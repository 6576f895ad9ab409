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
from typing import TypeAlias

from exonerate.core.waves.partition import Run

_Slots: TypeAlias = tuple[float, int]  # free from this time on, how many
_Activity: TypeAlias = tuple[float, float, int]  # from, to, how many run


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
    free: list[_Slots] = [(0.0, slots)]
    activity: list[_Activity] = []
    for run in runs:
        _place(free, run, run.tokens + tokens_per_cta, activity)
    makespan = max(begin for begin, _ in free)
    work = sum(run.count * (run.tokens + tokens_per_cta) for run in runs)
    busy = work / (slots * makespan) if makespan else 1.0
    if saturating is None or saturating >= slots:
        return Schedule(makespan, min(1.0, busy))
    return Schedule(_stretched(activity, saturating), min(1.0, busy))


def _place(free: list[_Slots], run: Run, work: float, activity: list[_Activity]) -> None:
    """Put the CTAs of one run on the slots that are free first; `free` is a heap."""
    count = _whole_rounds(free, run.count, work, activity)
    # Work of no length occupies nobody.
    while count and work:
        begin, slots = heapq.heappop(free)
        while free and free[0][0] == begin:
            slots += heapq.heappop(free)[1]
        placed = min(slots, count)
        heapq.heappush(free, (begin + work, placed))
        if placed < slots:
            heapq.heappush(free, (begin, slots - placed))
        activity.append((begin, begin + work, placed))
        count -= placed


def _whole_rounds(free: list[_Slots], count: int, work: float, activity: list[_Activity]) -> int:
    """Give every slot the same number of CTAs at once; returns how many CTAs are left.

    While the slots are free within one CTA's work of each other, a round serves each of them once
    and leaves their order as it was.
    """
    slots = sum(number for _, number in free)
    spread = max(begin for begin, _ in free) - free[0][0]
    rounds = count // slots if spread <= work else 0
    if rounds:
        activity += [(begin, begin + rounds * work, number) for begin, number in free]
        # Adding the same to every entry keeps the heap a heap.
        free[:] = [(begin + rounds * work, number) for begin, number in free]
    return count - rounds * slots


def _stretched(activity: Sequence[_Activity], saturating: float) -> float:
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
