"""What failures depend on: how long a connection was idle, and the timers on both sides."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in

ERROR = Answer(status=502, wait_s=0.01, spread_s=0.0)


def stale_pool(bad: Answer, closes_s: float, fails_s: float) -> Any:
    """The verdict where the inner box closes idle connections and requests fail by idle time."""

    def rule(asked: Asked) -> Answer:
        stale = asked.hop == "edge" and asked.on_connection > 1 and asked.idle_s > fails_s
        return bad if stale else OK

    world = World(rule, idle_closes={"inner": closes_s} if closes_s else {})
    victim = replace(world.deployment.victim, think_s=1.6)
    world.deployment = replace(world.deployment, victim=victim)
    return locate_in(world)


@pytest.mark.parametrize("timer_s", [0.9, 1.2])
def test_a_pool_that_outlives_the_next_hops_timer_is_blamed_on_both(timer_s: float) -> None:
    """The requests fail just where the next hop closes; the timer lies within what is told."""
    answer = stale_pool(ERROR, timer_s, timer_s)
    (fault,) = answer["faults"]
    assert (fault["layer"], fault["class"]) == ("boundary", "stale-upstream-pool")
    assert fault["hops"] == ["edge", "inner"]
    between = fault["details"]["idle_s_between"]
    assert between["largest_ok"] <= timer_s <= between["smallest_bad"] + 0.05
    assert len(fault["details"]["setting"]) == 2


def test_without_a_look_at_the_pool_a_hang_at_that_time_names_nobody() -> None:
    """A box that swallows requests after such a pause on its own would look the same."""
    assert stale_pool(SILENT, 1.2, 1.2)["faults"] == []


@pytest.mark.parametrize("closes_s", [0.0, 0.5])
def test_a_box_with_an_idle_time_of_its_own_is_not_taken_for_a_stale_pool(closes_s: float) -> None:
    """The next hop keeps its connections, or closes them long before: the pool is no reason."""
    answer = stale_pool(SILENT, closes_s, 1.2)
    assert all(fault["class"] != "stale-upstream-pool" for fault in answer["faults"])
    assert all("engine" not in fault["hops"] for fault in answer["faults"])


def test_failures_that_do_not_care_about_idle_time_are_not_blamed_on_it() -> None:
    """The fourth request of a connection, however long the pauses."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    seen = {o["id"] for o in locate_in(world)["observations"]}  # type: ignore[union-attr,index,call-overload]
    assert "idle-dependence@edge=longer-fails" not in seen
