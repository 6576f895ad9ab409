"""What becomes of the sessions beside the victim's, where it has several at a time."""

from dataclasses import replace
from typing import Any

from tests.support.world import OK, PATH, Answer, Asked, World, locate_in

from exonerate.core.deployment.parse import parse_deployment

BUSY = Answer(status=429, wait_s=0.01, spread_s=0.0)


def crowded(rule: Any) -> World:
    """A world whose victim has three sessions at a time."""
    text = PATH.replace("deadline_s = 12", "deadline_s = 12\nconcurrency = 3")
    return replace(World(rule), deployment=parse_deployment(text, path="test", folder="/"))


def test_an_engine_that_refuses_part_of_a_crowd_is_not_the_fault_of_the_box_before_it() -> None:
    """Past the box it was always one of the others that was refused, which is chance."""

    def rule(asked: Asked) -> Answer:
        first = asked.session.name.startswith("victim@")
        return BUSY if asked.together > 1 and (first == (asked.hop == "edge")) else OK

    answer: Any = locate_in(crowded(rule), budget_s=60.0)
    assert answer["faults"] == []


def test_a_box_that_refuses_part_of_a_crowd_is_named_where_the_crowd_is_well_past_it() -> None:
    """Past the box nobody of the crowd was refused."""

    def rule(asked: Asked) -> Answer:
        return BUSY if asked.together > 1 and asked.hop == "edge" else OK

    answer: Any = locate_in(crowded(rule), budget_s=60.0)
    assert [(f["class"], f["hops"]) for f in answer["faults"]] == [("request-refused", ["edge"])]


def test_a_box_that_drains_what_it_ended_has_a_timer_of_the_whole_answer() -> None:
    """The silence before the end is its own: what was asked again past it was never silent."""

    def rule(asked: Asked) -> Answer:
        if asked.session.request.max_tokens < 16:
            return OK
        ended = Answer(wait_s=0.1, spread_s=1.4, drains_s=2.0, cut=True)
        return ended if asked.hop == "edge" else Answer(wait_s=0.1, spread_s=3.6)

    answer: Any = locate_in(World(rule, sockets_visible=False), budget_s=90.0)
    assert [fault["class"] for fault in answer["faults"]] == ["total-timer"]
