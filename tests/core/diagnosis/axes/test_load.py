"""The axis of the load."""

from dataclasses import replace

from tests.support.world import OK, World

from exonerate.core.diagnosis.axes.load import AXES


def test_a_victim_that_is_alone_is_tried_in_a_crowd_and_one_in_a_crowd_alone() -> None:
    """A fault of the batch needs a crowd, which the victim may not have."""
    deployment = World(lambda _: OK).deployment
    (axis,) = AXES
    assert axis.crowd is not None
    assert axis.crowd(deployment) == 4
    crowded = replace(deployment, victim=replace(deployment.victim, concurrency=4))
    assert axis.crowd(crowded) == 1
