"""The axis of the load."""

from dataclasses import replace

from tests.support.world import OK, World

from exonerate.core.diagnosis.axes.load import AXES


def test_a_victim_that_is_alone_has_no_load_to_take_away() -> None:
    """With a concurrency of one there is nothing to vary."""
    deployment = World(lambda _: OK).deployment
    (axis,) = AXES
    assert axis.crowd is not None
    assert axis.crowd(deployment) is None
    crowded = replace(deployment, victim=replace(deployment.victim, concurrency=4))
    assert axis.crowd(crowded) == 1
