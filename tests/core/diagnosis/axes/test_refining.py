"""What is asked after a conviction, for the details of the verdict."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in

REFUSED = Answer(status=403, wait_s=0.01, spread_s=0.0)


def details_of(rule: Callable[[Asked], Answer], **victim: Any) -> Any:
    """The details of the fault that is found at the edge, for a victim with these habits."""
    world = World(rule)
    deployment = world.deployment
    world.deployment = replace(deployment, victim=replace(deployment.victim, **victim))
    answer: Any = locate_in(world)
    (fault,) = answer["faults"]
    assert fault["hops"] == ["edge"], answer["paragraph"]
    return fault["details"]


def test_a_box_that_minds_what_is_written_is_not_said_to_mind_its_length() -> None:
    """The victim's own text is refused, plain words of the same size are not."""
    details = details_of(
        lambda a: REFUSED if a.hop == "edge" and a.session.request.body_ref else OK,
        request="body.json",
    )
    assert details["depends_on"] == ["the content of the request"]
    assert "request_bytes" not in details


def test_a_large_text_of_the_victims_own_is_found_to_be_large() -> None:
    """Plain words of the same size are refused as well, smaller ones are not."""
    details = details_of(
        lambda a: REFUSED if a.hop == "edge" and a.body_bytes > 2000 else OK,
        request="body.json",
    )
    assert details["depends_on"] == ["the size of the request's body"]


def test_a_box_that_answers_no_stream_is_found_to_mind_the_stream() -> None:
    """Every streamed request hangs, of any size and on any connection; unstreamed ones do not."""
    details = details_of(
        lambda a: SILENT if a.hop == "edge" and a.session.request.stream else OK, deadline_s=6.0
    )
    assert details["depends_on"] == ["whether a stream is asked for"]


def long_answers(asked: Asked) -> Answer:
    """Two seconds of tokens for sixteen of them or more; a timer of 1.5 s at the edge."""
    short = asked.session.request.max_tokens < 16
    if short:
        return OK
    if asked.hop == "edge":
        return Answer(wait_s=0.1, spread_s=1.4, cut=True)
    return Answer(wait_s=0.1, spread_s=1.9)


def test_a_timer_of_the_whole_answer_is_confirmed_by_a_shorter_one() -> None:
    """Short answers survive; the change is part of the evidence."""
    answer: Any = locate_in(World(long_answers))
    (fault,) = answer["faults"]
    assert fault["class"] == "total-timer"
    assert "length-flip@edge=flips" in fault["evidence"]
    assert abs(fault["details"]["total_s"] - 1.5) < 0.1


def test_a_timer_that_short_answers_do_not_survive_is_none() -> None:
    """Where the shortest answer is cut as well, after as long, nobody is convicted of a timer."""

    def rule(asked: Asked) -> Answer:
        cut = Answer(wait_s=0.1, spread_s=1.4, cut=True)
        return cut if asked.hop == "edge" else Answer(wait_s=0.1, spread_s=1.9)

    answer: Any = locate_in(World(rule))
    assert [fault["class"] for fault in answer["faults"]] != ["total-timer"]
