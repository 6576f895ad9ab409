"""The axis of the load."""

from dataclasses import replace

from tests.support.world import OK, World

from exonerate.core.diagnosis.axes.load import AXES


def test_a_victim_in_a_crowd_is_tried_alone_and_one_that_is_alone_in_no_crowd() -> None:
    """Nobody is sent more at once than the victim sends."""
    deployment = World(lambda _: OK).deployment
    (axis,) = AXES
    assert axis.crowd is not None
    assert axis.crowd(deployment) is None
    crowded = replace(deployment, victim=replace(deployment.victim, concurrency=4))
    assert axis.crowd(crowded) == 1
