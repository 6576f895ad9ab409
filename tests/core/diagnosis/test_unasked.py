"""Nobody is convicted before what tells the suspects apart was asked."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, judgement_after, locate_in

from exonerate.core.diagnosis.unasked import nothing_to_leave


def stale(closes_s: float, *, budget_s: float) -> Any:
    """A box that sends into connections which the next hop closed at `closes_s`, and hangs."""

    def rule(asked: Asked) -> Any:
        reused = asked.on_connection > 1
        return SILENT if asked.hop == "edge" and reused and asked.idle_s > closes_s else OK

    world = World(rule, idle_closes={"inner": closes_s, "engine": closes_s})
    deployment = world.deployment
    world.deployment = replace(deployment, victim=replace(deployment.victim, think_s=1.2))
    return locate_in(world, budget_s=budget_s, symptom="hang")


@pytest.mark.parametrize("closes_s", [0.5, 0.67, 1.0])
@pytest.mark.parametrize("budget_s", [20.0, 40.0, 60.0, 120.0])
def test_a_pool_that_outlives_the_next_hop_is_never_taken_for_a_box_that_drops_requests(
    closes_s: float, budget_s: float
) -> None:
    """However soon the budget ends: that the next hop closed whenever it failed is seen at once."""
    answer = stale(closes_s, budget_s=budget_s)
    assert {fault["class"] for fault in answer["faults"]} <= {"stale-upstream-pool"}


def test_a_next_hop_that_closes_whenever_it_likes_excuses_no_box() -> None:
    """Its closings go with every failure, but what fails is a request by its number."""
    world = World(
        lambda a: SILENT if a.hop == "edge" and a.on_connection == 3 else OK,
        idle_closes={"inner": 0.05, "engine": 0.05},
    )
    answer: Any = locate_in(world, symptom="hang")
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge"])


@pytest.mark.parametrize(
    ("answer", "vain"), [(Answer(wait_s=4.0), True), (SILENT, True), (Answer(wait_s=0.2), False)]
)
def test_nobody_leaves_an_answer_that_has_not_begun(answer: Answer, vain: bool) -> None:
    """Behind a queue of seconds an engine is not asked what it gives back: nothing is taken yet."""
    judgement = judgement_after(World(lambda _: answer))
    assert nothing_to_leave(judgement.facts, judgement.deployment) is vain
