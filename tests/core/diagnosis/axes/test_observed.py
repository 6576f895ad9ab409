"""What varying one axis shows, in the simulated world."""

from collections.abc import Callable

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, judgement_after

from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.axes.scenes import Inquiry, axis_scene
from exonerate.core.diagnosis.suspect import Observation


def seen(rule: Callable[[Asked], Answer], slug: str, hop: str = "edge") -> dict[str, Observation]:
    """What each hop's observable of the axis says after one scene of it."""
    world = World(rule)
    axis = axis_of(f"{slug}-flip")
    assert axis is not None
    inquiry = Inquiry(axis, hop_named(world.deployment, hop))
    judgement = judgement_after(
        world, lambda facts: axis_scene(world.deployment, facts, inquiry, seed=1)
    )
    return {o.hop: o for o in judgement.observations if o.observable == axis.observable}


def test_a_box_that_minds_large_bodies_is_well_with_small_ones() -> None:
    """Three small sessions go well, three unchanged ones beside them do not."""
    found = seen(lambda a: SILENT if a.hop == "edge" and a.body_bytes > 4000 else OK, "size")
    assert (found["edge"].value, found["edge"].times) == ("flips", 3)


def test_a_box_that_counts_requests_does_not_mind_the_size() -> None:
    """Small bodies fail at the same request."""
    found = seen(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK, "size")
    assert (found["edge"].value, found["edge"].times) == ("same", 3)


def test_a_box_that_counts_requests_of_a_connection_does_not_mind_fresh_ones() -> None:
    """With a connection for each round the count never gets there."""
    found = seen(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK, "fresh")
    assert found["edge"].value == "flips"


def test_what_was_varied_at_an_entry_is_said_of_every_hop_behind_it() -> None:
    """The requests passed all of them, so the axis tells about each; not about those before."""
    found = seen(
        lambda a: SILENT if a.hop != "engine" and a.on_connection == 3 else OK, "fresh", "inner"
    )
    assert set(found) == {"inner", "engine"}


@pytest.mark.parametrize("every", [2, 3])
def test_a_symptom_that_comes_and_goes_shows_nothing_by_itself(every: int) -> None:
    """Three of three is not reached, and chance explains the rest."""
    found = seen(
        lambda a: Answer(status=502) if a.hop == "edge" and a.count % every else OK, "idle"
    )
    assert found == {} or found["edge"].value == "same"
