"""How long a launch takes."""

from __future__ import annotations

import heapq
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.partition import Run
from exonerate.core.waves.schedule import schedule

launches = st.lists(
    st.builds(Run, tokens=st.integers(1, 500).map(float), count=st.integers(1, 60)),
    min_size=1,
    max_size=8,
)
slot_counts = st.integers(1, 40)


def one_by_one(runs: list[Run], slots: int) -> float:
    """The same rule, played CTA by CTA."""
    free = [0.0] * slots
    for run in runs:
        for _ in range(run.count):
            heapq.heappush(free, heapq.heappop(free) + run.tokens)
    return max(free)


@given(count=st.integers(1, 100_000), work=st.integers(1, 9), slots=st.integers(1, 200))
def test_equal_ctas_take_whole_waves(count: int, work: int, slots: int) -> None:
    """The wave formula."""
    assert schedule([Run(work, count)], slots).time == math.ceil(count / slots) * work


@given(runs=launches, slots=slot_counts)
def test_ragged_ctas_go_to_the_first_free_slot(runs: list[Run], slots: int) -> None:
    """Grouping equal CTAs is a short cut, not another rule."""
    assert schedule(runs, slots).time == one_by_one(runs, slots)


@given(runs=launches, slots=slot_counts)
def test_no_launch_beats_its_work_or_its_longest_cta(runs: list[Run], slots: int) -> None:
    """Bounds from below, and slots are busy for at most all of the time."""
    found = schedule(runs, slots)
    work = sum(run.tokens * run.count for run in runs)
    assert found.time >= max(run.tokens for run in runs)
    assert found.time >= work / slots - 1e-6
    assert 0 < found.busy <= 1


@given(runs=launches, slots=slot_counts, extra=st.integers(1, 50))
def test_more_ctas_and_more_overhead_never_take_less_time(
    runs: list[Run], slots: int, extra: int
) -> None:
    """Monotone in the work; a launch with another CTA at its end is not faster."""
    now = schedule(runs, slots).time
    assert schedule([*runs, Run(1.0, extra)], slots).time >= now
    assert schedule(runs, slots, tokens_per_cta=float(extra)).time > now


@given(runs=launches, slots=slot_counts, saturating=st.integers(1, 40))
def test_shared_bandwidth_slows_down_and_never_helps(
    runs: list[Run], slots: int, saturating: int
) -> None:
    """Never faster than undisturbed, never above the bandwidth."""
    free = schedule(runs, slots).time
    shared = schedule(runs, slots, saturating=float(saturating)).time
    work = sum(run.tokens * run.count for run in runs)
    assert shared >= free - 1e-6
    assert shared >= work / saturating - 1e-6
    if saturating >= slots:
        assert shared == free


def test_a_tail_wave_costs_less_when_bandwidth_is_the_limit() -> None:
    """Ten slots that five CTAs saturate: a full wave takes two units, one CTA more takes one."""
    full = schedule([Run(1.0, 10)], 10, saturating=5).time
    tail = schedule([Run(1.0, 11)], 10, saturating=5).time
    assert (full, tail) == (2.0, 3.0)


def test_a_launch_without_work_takes_no_time() -> None:
    """A batch of padding."""
    assert schedule([Run(0.0, 5)], 2).time == pytest.approx(0.0)
