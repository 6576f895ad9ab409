"""Whether what an engine says of its load can be believed."""

from collections.abc import Mapping, Sequence

import pytest
from tests.support.world import NS

from exonerate.core.diagnosis.facts import CounterSample
from exonerate.core.diagnosis.freshness import (
    asked_ns,
    believable,
    dated,
    idles,
    load_of,
    silent,
    spaced,
)


def readings(values: Sequence[Mapping[str, float]], every_s: float = 1.0) -> list[CounterSample]:
    """Readings of an engine, so far apart."""
    return [
        CounterSample("s", "c", "engine", int((1 + n * every_s) * NS), one)
        for n, one in enumerate(values)
    ]


def before(**values: float) -> CounterSample:
    """The last reading before the wait."""
    return CounterSample("s", "c", "engine", 0, values)


def test_a_load_that_changed_since_the_wait_began_is_believed() -> None:
    """Somebody writes it; one that stood there before and never moves may be from last week."""
    three = readings([{"running": 1.0}] * 3)
    assert believable(three, before(running=0.0))
    assert not believable(three, before(running=1.0))


@pytest.mark.parametrize(("age_s", "believed"), [(0.1, True), (23.6, False)])
def test_an_age_that_the_engine_tells_decides(age_s: float, believed: bool) -> None:
    """However long the load has been the same."""
    told = readings([{"running": 1.0, "state_age_s": age_s}] * 3)
    assert believable(told, before(running=1.0)) == believed


def test_gauges_that_are_seldom_written_are_not_believed_by_themselves() -> None:
    """SGLang shows the load of its last step for up to half a minute after it."""
    lagging = readings([{"running": 1.0, "gauge_lag_s": 30.0}] * 3)
    assert not believable(lagging, before(running=0.0, gauge_lag_s=30.0))


def test_a_load_is_dated_only_by_the_engine_itself() -> None:
    """A change may have been the last thing that a scheduler wrote before it froze."""
    changed = readings([{"running": 1.0}, {"running": 0.0}, {"running": 0.0}])
    assert believable(changed, before(running=1.0))
    assert not dated(changed)
    assert dated(readings([{"running": 0.0, "state_age_s": 0.1}] * 3))
    assert not dated(readings([{"running": 0.0, "state_age_s": 9.0}] * 3))


@pytest.mark.parametrize("slots", [0.0, 3.0])
def test_a_gauge_that_a_second_source_gives_the_lie_is_not_believed(slots: float) -> None:
    """llama.cpp's slots and its gauge are two views of the same."""
    gauge = 0.0 if slots else 1.0
    said = readings([{"running": gauge, "busy_slots": slots, "state_age_s": 0.0}] * 3)
    assert not believable(said, None)


def test_time_that_the_scheduler_counted_as_idle_is_idle_whatever_the_gauges_say() -> None:
    """A counter, not a gauge: it grows only while there is nothing to do."""
    assert idles(readings([{"running": 1.0, "idle_s": 5.0 + n} for n in range(4)]))
    assert not idles(readings([{"running": 1.0, "idle_s": 5.0}] * 4))
    assert not idles(readings([{"running": 1.0}] * 4))


def test_a_scheduler_whose_clock_stands_gives_no_sign_of_life() -> None:
    """Its state grows old, or its loop counts nothing; a short pause is no silence."""
    assert silent(readings([{"state_age_s": float(n)} for n in range(8)]))
    assert not silent(readings([{"state_age_s": 0.2}] * 8))
    assert silent(readings([{"heartbeat": 9.0}] * 8))
    assert not silent(readings([{"heartbeat": 9.0 + n / 9} for n in range(8)]))
    assert not silent(readings([{"heartbeat": 9.0}] * 3))
    assert not silent(readings([{"running": 1.0}] * 8))


def test_readings_that_are_nearer_than_a_quarter_of_a_second_are_one_look() -> None:
    """Three looks at the same moment are not three looks."""
    assert len(spaced(readings([{}] * 11, every_s=0.05))) == 3
    assert len(spaced(readings([{}] * 11, every_s=0.25))) == 11


def test_a_page_that_took_long_is_as_old_as_its_request() -> None:
    """What it says may have been true when it was asked for, and no longer."""
    slow = CounterSample("s", "c", "engine", 5 * NS, {"running": 2.0, "waiting": 1.0}, 2.0)
    assert asked_ns(slow) == 3 * NS
    assert load_of(slow) == 3
