"""Suspects of the network in a simulated world: what makes requests pass again names them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in

from exonerate.core.deployment.parse import parse_deployment

LOST = Answer(silent=True, lost=True)
DIRECT = """\
[deployment]
model = "m"
[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:8000"
metrics = "http://127.0.0.1:8000/metrics"
[victim]
rounds = 4
think_s = 3.0
prompt_tokens = 60
growth_tokens = 60
deadline_s = 6
"""


def direct(rule: Any) -> World:
    """A world of a client and an engine, and what lies between them."""
    return World(rule, deployment=parse_deployment(DIRECT, path="test", folder="/"))


def only_fault(answer: Any) -> Mapping[str, Any]:
    """The one fault of an answer."""
    assert len(answer["faults"]) == 1, answer["paragraph"]
    fault = answer["faults"][0]
    assert isinstance(fault, Mapping)
    return fault


def forgetful(asked: Asked, timeout_s: float) -> Answer:
    """Something on the way forgets connections that were silent for so long."""
    silent_s = asked.session.tcp_keepalive_s or asked.idle_s
    return LOST if asked.on_connection > 1 and silent_s > timeout_s else OK


@pytest.mark.parametrize("timeout_s", [0.8, 2.0])
def test_a_connection_that_the_network_forgets_is_blamed_on_the_way(timeout_s: float) -> None:
    """Fresh connections and short pauses pass, and probes every second where that is enough."""
    fault = only_fault(locate_in(direct(lambda a: forgetful(a, timeout_s))))
    assert (fault["layer"], fault["class"]) == ("network", "silent-drop")
    assert fault["hops"] == ["client", "engine"]


def test_an_answer_that_takes_longer_than_the_network_remembers_is_lost_on_the_way() -> None:
    """The request was acknowledged, the engine is done, and nothing comes; keep-alive cures it."""
    world = direct(lambda a: OK if a.session.tcp_keepalive_s else SILENT)
    fault = only_fault(locate_in(world, budget_s=300))
    assert (fault["layer"], fault["class"]) == ("network", "silent-drop")


@pytest.mark.parametrize("limit", [900, 1100])
def test_requests_over_a_size_that_never_arrive_are_blamed_on_the_link(limit: int) -> None:
    """Small bodies pass on the same connection; the smallest that did not is told."""
    world = direct(lambda a: LOST if a.body_bytes > limit else OK)
    world.deployment = parse_quick(world)
    fault = only_fault(locate_in(world))
    assert (fault["layer"], fault["class"]) == ("network", "mtu-black-hole")
    between = fault["details"]["request_bytes"]
    assert between["largest_ok"] < limit + 400 <= between["smallest_bad"] + 400


def parse_quick(world: World) -> Any:
    """The same deployment with short pauses between the rounds."""
    return replace(world.deployment, victim=replace(world.deployment.victim, think_s=0.2))


def test_an_engine_that_acknowledges_and_stays_silent_is_not_blamed_on_the_network() -> None:
    """Its kernel took the request: whoever lost it, the way to it did not."""
    answer: Any = locate_in(direct(lambda a: SILENT if a.on_connection > 2 else OK))
    assert all(fault["layer"] != "network" for fault in answer["faults"])


def test_the_way_to_the_first_of_two_boxes_is_named_by_both_its_ends() -> None:
    """Past the first box everything is well, and the box itself never got the segments."""
    world = World(lambda a: forgetful(a, 2.0) if a.hop == "edge" else OK)
    victim = replace(world.deployment.victim, think_s=3.0)
    world.deployment = replace(world.deployment, victim=victim)
    fault = only_fault(locate_in(world))
    assert (fault["class"], fault["hops"]) == ("silent-drop", ["client", "edge"])
