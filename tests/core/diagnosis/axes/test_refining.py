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
