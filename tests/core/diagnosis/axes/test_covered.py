"""What a verdict says that it covers."""

from typing import Any

from tests.support.world import OK, SILENT, World, judgement_after, locate_in

from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.covered import covered_sentence, unvaried
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.axes.scenes import Inquiry, axis_scene


def test_a_cleared_hop_says_up_to_what_it_was_asked() -> None:
    """The victim's six rounds, its silence, its largest body."""
    answer: Any = locate_in(
        World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    )
    why = next(item["why"] for item in answer["cleared"] if item.get("hop") == "engine")
    assert "up to 4 requests of a connection" in why
    assert "idle times up to 0.4 s" in why
    assert "bytes" in why


def test_nothing_is_covered_where_nothing_went_well() -> None:
    """A hop that answered nothing is covered on no axis."""
    facts = judgement_after(World(lambda _: SILENT)).facts
    assert covered_sentence(facts, "edge") == ""


def test_the_axes_that_were_not_varied_are_named() -> None:
    """One that was is no longer listed."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    axis = axis_of("fresh-flip")
    assert axis is not None
    inquiry = Inquiry(axis, hop_named(world.deployment, "edge"))
    varied = judgement_after(world, lambda f: axis_scene(world.deployment, f, inquiry, seed=1))
    (before,) = unvaried(judgement_after(world).facts, alone=False)
    after, where = unvaried(varied.facts, alone=False)
    assert "fresh" in before
    assert "fresh" not in after
    assert where == "varied at `edge` alone, at no other hop: fresh"


def test_a_victim_that_is_alone_is_told_how_to_ask_for_a_crowd() -> None:
    """Its load was not varied because there was none."""
    world = World(lambda _: OK)
    load, others = unvaried(judgement_after(world).facts, alone=True)
    assert "`concurrency`" in load
    assert "load" not in others
