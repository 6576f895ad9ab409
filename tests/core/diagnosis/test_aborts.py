"""Whether the engine stops for a client that left, from its counters."""

from typing import Any

import pytest
from tests.support.world import PATH, SILENT, Load, World, locate_in, record, start_records

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.aborts import aborts
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.special_scenes import abort_scene
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Event, ProbeSession
from exonerate.core.scene_json import event_to_json, scene_to_json
from exonerate.core.wire.exchange import ConnectionFacts, Exchange
from exonerate.core.wire.exchange_json import exchange_to_json

NS = 1_000_000_000


def observed(
    running_after: dict[str, float], kv: tuple[float, float, float] | None = None
) -> dict[str, str]:
    """What aborts at each hop show, given how many run on the engine after each of them.

    `kv` is the share of the cache in use before, during and after.
    """
    deployment = parse_deployment(PATH, path="test", folder="/")
    scene = abort_scene(deployment, 2, 1)
    events: list[Event] = []
    for place, (hop, after) in enumerate(running_after.items()):
        begun = place * 10 * NS
        exchange = Exchange(
            session=f"abort@{hop}",
            hop=hop,
            round=1,
            connection=ConnectionFacts(
                ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=place
            ),
            request_bytes=10,
            begun_ns=begun,
            connected_ns=begun,
            first_token_ns=begun + NS // 10,
            ended_ns=begun + NS,
            given_up="deadline",
        )
        events.append(Event(f"abort@{hop}", begun + NS, "exchange", exchange_to_json(exchange)))
        for tenth in range(-3, 40):
            at = begun + tenth * NS // 10
            during = begun < at <= begun + NS
            values = {"running": 1.0 if during else after if tenth > 0 else 0.0}
            if kv is not None:
                values["kv_usage"] = kv[0] if tenth <= 0 else kv[1] if during else kv[2]
            data: JsonObject = {"hop": "engine", "values": values}
            events.append(Event("counters@engine/abort", at, "metrics", data))
    records = start_records(World(lambda _: None))  # type: ignore[arg-type,return-value]  # unused
    records.append(record(records, "scene_planned", {"scene": scene_to_json(scene)}))
    shown = [event_to_json(event) for event in events]
    records.append(record(records, "scene_played", {"scene": scene.id, "events": shown}))
    facts = read_facts(records)
    found = [o for hop in deployment.hops for o in aborts(hop, facts, deployment) if o]
    return {f"{o.observable}@{o.hop}": o.value for o in found}


@pytest.mark.parametrize(("after", "value"), [(0.0, "freed"), (1.0, "kept")])
def test_the_count_of_running_requests_tells_whether_it_stopped(after: float, value: str) -> None:
    """It falls back at once, or it stays."""
    assert observed({"engine": after})["abort-through@engine"] == value


def test_a_hop_that_does_not_pass_the_leaving_on_differs_from_what_lies_past_it() -> None:
    """Freed when left directly, kept when left through the box."""
    seen = observed({"engine": 0.0, "edge": 1.0})
    assert seen["abort-through@edge"] == "kept"
    assert seen["abort-beyond@edge"] == "freed"


@pytest.mark.parametrize(
    ("kv", "abort", "held"),
    [
        ((0.1, 0.2, 0.1), "freed", "as-live"),
        ((0.1, 0.2, 0.2), "leaked", "above-live"),
        ((0.5, 0.6, 0.55), "freed", "as-live"),
    ],
)
def test_cache_that_stays_taken_when_its_client_has_left_is_a_lost_slot(
    kv: tuple[float, float, float], abort: str, held: str
) -> None:
    """The count of running requests falls, the cache does not."""
    seen = observed({"engine": 0.0}, kv)
    assert seen["abort-through@engine"] == abort
    assert seen["slots-held@engine"] == held


def test_a_full_cache_with_nothing_running_is_held_by_nobody() -> None:
    """Requests wait for room that no live request takes: lost slots, and not a stuck scheduler."""
    full: Any = locate_in(World(lambda _: SILENT, load=Load(running=0, waiting=9, kv_usage=1.0)))
    assert [fault["class"] for fault in full["faults"]] == ["slot-leak"]
    empty: Any = locate_in(World(lambda _: SILENT, load=Load(running=0, waiting=9, kv_usage=0.0)))
    assert [fault["class"] for fault in empty["faults"]] == ["scheduler-stuck"]


def test_with_little_budget_left_only_the_entry_is_left() -> None:
    """The boxes on the way are seen from there; the engine is asked when there is time."""
    deployment = parse_deployment(PATH, path="test", folder="/")
    hops = {
        brief: [a.hop for a in abort_scene(deployment, 2, 1, brief=brief).activities
                if isinstance(a, ProbeSession) and a.name.startswith("abort@")]
        for brief in (False, True)
    }  # fmt: skip
    assert hops == {False: ["engine", "edge"], True: ["edge"]}
