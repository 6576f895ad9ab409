"""No run sends more than was said that it could."""

from collections import Counter
from dataclasses import replace

import pytest
from tests.support.world import (
    OK,
    PATH,
    SILENT,
    Answer,
    Asked,
    Load,
    Rule,
    World,
    record,
    start_records,
)

from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.localiser import SCENES_MAX, VARIED_SCENES_MAX, decide
from exonerate.core.diagnosis.traffic import Traffic, left_out, requests_max, traffic
from exonerate.core.scene import ProbeSession, Scene
from exonerate.core.scene_json import event_to_json, scene_to_json

DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")


def fifth_is_silent(asked: Asked) -> Answer:
    """A fault by the number of the request."""
    return SILENT if asked.hop == "edge" and asked.on_connection == 5 else OK


def large_is_silent(asked: Asked) -> Answer:
    """A fault by size."""
    return SILENT if asked.hop != "engine" and asked.body_bytes > 1500 else OK


def crowded_is_garbled(asked: Asked) -> Answer:
    """Text that goes wrong when three run together."""
    word = asked.code_word
    text = "xqzt brrf " * 20 if asked.together >= 3 else f"{word} the quick brown fox {word}"
    return Answer(text=text)


WORLDS: list[tuple[Rule, Load, str | None]] = [
    (lambda _: OK, Load(), None),
    (lambda _: OK, Load(), "corrupted"),
    (lambda _: SILENT, Load(running=8, waiting=9, tokens_per_s=90), "hang"),
    (lambda _: SILENT, Load(running=8, waiting=9), "hang"),
    (fifth_is_silent, Load(), "hang"),
    (large_is_silent, Load(), "hang"),
    (crowded_is_garbled, Load(), "corrupted"),
]


def scenes_of(world: World, symptom: str | None) -> list[Scene]:
    """Every scene of a run with time without end."""
    records = start_records(world, budget_s=9000.0, symptom=symptom)
    found: list[Scene] = []
    while not isinstance(decided := decide(records), Verdict):
        found.append(decided)
        records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
        events = [event_to_json(event) for event in world.play(decided)]
        records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
    return found


def requests_in(scene: Scene) -> int:
    """What it can send, side probes included."""
    side = [a for trigger in scene.triggers for a in trigger.play]
    probes = [a for a in (*scene.activities, *side) if isinstance(a, ProbeSession)]
    return sum(probe.rounds for probe in probes)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(("rule", "load", "symptom"), WORLDS)
def test_no_scene_is_unforeseen_or_larger_than_was_said(
    rule: Rule, load: Load, symptom: str | None, concurrency: int
) -> None:
    """Whatever the hops answer: each scene belongs to a kind, and keeps to its bounds."""
    victim = replace(DEPLOYMENT.victim, concurrency=concurrency)
    deployment = replace(DEPLOYMENT, victim=victim)
    kinds = traffic(deployment, copies_max=SCENES_MAX)
    scenes = scenes_of(World(rule, load=load, deployment=deployment), symptom)
    seen: Counter[str] = Counter()
    for scene in scenes:
        (kind,) = [kind for kind in kinds if scene.id.startswith(kind.begins)]
        seen[kind.kind] += 1
        assert requests_in(scene) <= kind.requests_max, scene.id
        assert seen[kind.kind] <= kind.scenes_max
    assert sum(map(requests_in, scenes)) <= requests_max(kinds)
    assert len(scenes) <= SCENES_MAX + VARIED_SCENES_MAX + 1


def kinds_of(deployment: Deployment, *, gentle: bool) -> dict[str, Traffic]:
    """By name."""
    return {k.kind: k for k in traffic(deployment, copies_max=SCENES_MAX, gentle=gentle)}


def test_being_gentle_sends_no_crowd_and_asks_nobody_past_a_hop() -> None:
    """What is left is what there was, or less."""
    crowded = replace(DEPLOYMENT, victim=replace(DEPLOYMENT.victim, concurrency=3))
    usual, gentle = (kinds_of(crowded, gentle=gentle) for gentle in (False, True))
    assert set(usual) - set(gentle) == {"beats", "crowd", "edge"}
    assert gentle["axis"].in_flight_max < usual["axis"].in_flight_max
    assert all(gentle[name].requests_max <= usual[name].requests_max for name in gentle)
    assert "crowd: no such scene" in left_out(crowded)
    assert "crowd" not in kinds_of(DEPLOYMENT, gentle=False)
