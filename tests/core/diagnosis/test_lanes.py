"""What shares a lane, so that it is never under way together."""

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.inquiries import next_shape, victim_scene
from exonerate.core.diagnosis.lanes import lane_beside, lane_kept_up
from exonerate.core.scene import ProbeSession


def test_all_that_is_asked_beside_the_victim_is_in_the_lane_of_its_hop() -> None:
    """The victim's own sessions are in none; what a trigger asks never is without one."""
    deployment = parse_deployment(PATH, path="test", folder="/")
    scene = victim_scene(deployment, next_shape(read_facts(()), deployment, "edge"), 1)
    own = [a for a in scene.activities if isinstance(a, ProbeSession)]
    asked = [a for t in scene.triggers for a in t.play if isinstance(a, ProbeSession)]
    lanes = {session.name: session.lane for session in own}
    assert {lanes.pop(f"victim@{hop.name}") for hop in deployment.hops} == {None}
    assert lanes == {"fresh@edge": lane_beside("edge")}
    assert asked
    assert all(probe.lane == lane_beside(probe.hop) for probe in asked)


def test_each_hop_has_lanes_of_its_own() -> None:
    """What waits at one address holds nobody up at another."""
    names = [name(hop) for name in (lane_beside, lane_kept_up) for hop in ("edge", "engine")]
    assert len(set(names)) == 4
