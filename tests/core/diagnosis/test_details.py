"""Thresholds of timers and clocks, in the simulated world."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in


def fault_of(world: World, *, budget_s: float = 120.0) -> Any:
    """The one fault that is found."""
    answer: Any = locate_in(world, budget_s=budget_s)
    (fault,) = answer["faults"]
    return fault


def test_a_silence_that_ends_an_answer_is_measured_with_its_interval() -> None:
    """An error after two seconds of silence: longer than any silence that went well."""
    timed_out = Answer(status=504, wait_s=2.0, spread_s=0.02)
    thinking = Answer(wait_s=3.0, spread_s=0.5)

    def rule(asked: Asked) -> Answer:
        if asked.on_connection != 2:
            return OK
        return timed_out if asked.hop == "edge" else thinking

    fault = fault_of(World(rule, sockets_visible=False))
    assert fault["class"] == "idle-timer"
    assert abs(fault["details"]["idle_s"] - 2.0) < 0.2
    between = fault["details"]["idle_s_between"]
    assert between["largest_ok"] < between["smallest_bad"] <= 2.1


def test_a_box_that_says_504_while_nobody_behind_it_is_silent_has_no_idle_timer_to_blame() -> None:
    """What it waited for was never late: where the request went is not known."""
    timed_out = Answer(status=504, wait_s=2.0, spread_s=0.02)

    def rule(asked: Asked) -> Answer:
        return timed_out if asked.hop == "edge" and asked.on_connection == 2 else OK

    answer: Any = locate_in(World(rule, sockets_visible=False), budget_s=60.0)
    assert answer["faults"] == []


@settings(max_examples=6, deadline=None)
@given(st.floats(4.0, 9.0), st.floats(0.0, 4.0))
def test_answers_that_a_clock_ends_give_its_period(period_s: float, phase_s: float) -> None:
    """Where anything is named, it is the clock, with its period and no timer of the answer."""

    def rule(asked: Asked) -> Answer:
        if asked.hop != "edge":
            return Answer(spread_s=3.5)
        next_s = period_s - (asked.begun_s - phase_s) % period_s
        if next_s < 3.6:
            return Answer(wait_s=min(0.1, next_s / 2), spread_s=next_s - min(0.1, next_s / 2),
                          cut=True)  # fmt: skip
        return Answer(spread_s=3.5)

    answer: Any = locate_in(World(rule), budget_s=240.0)
    for fault in answer["faults"]:
        assert fault["class"] != "total-timer"
        if fault["class"] == "periodic-kill":
            details = fault["details"]
            ratio = details["period_s"] / period_s
            assert min(abs(ratio - n) for n in (1, 2, 3)) < 0.1
            assert 0 <= details["phase_s"] <= details["period_s"]


def test_a_silence_before_the_request_is_not_taken_for_a_count() -> None:
    """Always the second request, and only after a silence that only the victim's own reaches."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.idle_s > 0.3 else OK)
    fault = fault_of(world, budget_s=200.0)
    assert fault["class"] == "drops-requests"
    found = fault["details"]["idle_before_s"]
    assert found["largest_ok"] <= 0.35
    assert found["smallest_bad"] >= 0.3
    assert "after_requests" not in fault["details"]
