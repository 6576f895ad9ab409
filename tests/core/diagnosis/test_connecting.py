"""New connections that take their time before anything is asked."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in


def located(rule: Any, connection: str = "fresh") -> Any:
    """The verdict on a victim that opens a new connection for each request and finds it slow."""
    world = World(rule, complaint="slow")
    victim = replace(world.deployment.victim, connection=connection)  # type: ignore[arg-type]  # one of its words
    world.deployment = replace(world.deployment, victim=victim)
    return locate_in(world)


@pytest.mark.parametrize(
    ("late", "key"),
    [(Answer(name_s=2.5), "dns_s"), (Answer(handshake_s=1.0), "connect_s")],
)
def test_the_hop_that_is_slow_to_connect_to_is_named_with_its_times(late: Answer, key: str) -> None:
    """A name server or a lost SYN: the time goes by before the request is sent."""
    answer = located(lambda a: late if a.hop == "edge" else Answer())
    (fault,) = answer["faults"]
    assert (fault["layer"], fault["class"]) == ("network", "slow-connect")
    assert fault["hops"] == ["client", "edge"]
    assert fault["details"][key] == pytest.approx(max(late.name_s, late.handshake_s))


def test_an_engine_that_thinks_for_long_is_not_slow_to_connect_to() -> None:
    """The same delay after the request was sent is not the network's."""

    def rule(asked: Asked) -> Answer:
        return Answer(wait_s=2.5)

    assert all(fault["class"] != "slow-connect" for fault in located(rule)["faults"])


def test_a_connection_that_is_quick_to_open_is_not_mentioned() -> None:
    """Nothing is made of a handshake of a few milliseconds."""
    answer = located(lambda _: Answer(handshake_s=0.01))
    assert answer["outcome"] == "no_fault"
    assert not any("connecting" in seen["id"] for seen in answer["observations"])
