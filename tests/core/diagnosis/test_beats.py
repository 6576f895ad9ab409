"""Answers kept under way at a box that seems to end them at moments of its own."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in, record, start_records

from exonerate.core.case.verdict import Verdict
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.localiser import decide
from exonerate.core.diagnosis.observables import observations
from exonerate.core.scene import ProbeSession, Scene
from exonerate.core.scene_json import event_to_json, scene_to_json

ANSWER_S = 3.5


def beaten(period_s: float, *hops: str) -> World:
    """Answers of which a clock at these hops ends those that it finds under way."""

    def rule(asked: Asked) -> Answer:
        next_s = period_s - (asked.begun_s - 2.0) % period_s
        if asked.hop in hops and next_s < ANSWER_S:
            wait_s = min(0.1, next_s / 2)
            return Answer(wait_s=wait_s, spread_s=next_s - wait_s, cut=True)
        return Answer(wait_s=0.1, spread_s=ANSWER_S - 0.1)

    return World(rule)


def scenes_in(world: World) -> list[Scene]:
    """Every scene of a run."""
    records = start_records(world)
    scenes: list[Scene] = []
    while not isinstance(decided := decide(records), Verdict):
        scenes.append(decided)
        records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
        events = [event_to_json(event) for event in world.play(decided)]
        records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
    return scenes


def kept_up(scene: Scene) -> dict[str, list[float]]:
    """When the answers of a scene begin, by hop."""
    begins: dict[str, list[float]] = {}
    for activity in scene.activities:
        if isinstance(activity, ProbeSession):
            begins.setdefault(activity.hop, []).append(activity.start_s)
    return begins


@pytest.mark.parametrize("period_s", [4.5, 6.0, 8.0])
def test_a_clock_is_convicted_by_the_answers_that_were_kept_under_way(period_s: float) -> None:
    """Whatever its period: the answers at the box stop together, those past it go on."""
    answer: Any = locate_in(beaten(period_s, "edge"), budget_s=75.0)
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("periodic-kill", ["edge"])
    assert fault["details"]["period_s"] == pytest.approx(period_s, rel=0.05)


def test_at_any_moment_several_answers_that_began_apart_are_under_way_at_the_box() -> None:
    """Whatever became of those before, and past the box as well."""
    kept = [scene for scene in scenes_in(beaten(6.0, "edge")) if scene.id.startswith("beats-")]
    assert kept
    for scene in kept:
        begins = kept_up(scene)
        assert set(begins) == {"edge", "inner"}
        last_s = max(begins["edge"])
        for at_s in (number / 10 + 0.03 for number in range(int(begins["edge"][1] * 10) + 1, 400)):
            under_way = [s for s in begins["edge"] if s < at_s < s + ANSWER_S]
            assert at_s > last_s or len(under_way) >= 2
            assert at_s > last_s or any(s < at_s < s + ANSWER_S for s in begins["inner"])


def test_no_answers_are_kept_under_way_where_endings_go_by_a_count() -> None:
    """A box that stops at the same request after the same time has no clock."""

    def rule(asked: Asked) -> Answer:
        ended = asked.hop == "edge" and asked.on_connection == 3
        return Answer(spread_s=ANSWER_S, cut=ended)

    assert not [s.id for s in scenes_in(World(rule)) if s.id.startswith("beats-")]


def test_a_clock_past_the_box_as_well_accuses_no_box() -> None:
    """What stops at the engine too is not the box's doing."""
    answer: Any = locate_in(beaten(6.0, "edge", "inner", "engine"))
    assert not [fault for fault in answer["faults"] if fault["hops"] != ["engine"]]


def test_what_was_kept_under_way_tells_a_clock_from_a_timer() -> None:
    """Two copies of the victim are too few to say that they ended after different times."""
    world = beaten(4.5, "edge")
    records = start_records(world)
    while not str(records[-1].body.get("scene")).startswith("beats-"):
        scene = decide(records)
        assert isinstance(scene, Scene)
        records.append(record(records, "scene_planned", {"scene": scene_to_json(scene)}))
        events = [event_to_json(event) for event in world.play(scene)]
        records.append(record(records, "scene_played", {"scene": scene.id, "events": events}))
    facts = read_facts(records)
    copies = [s for s in facts.sessions if s.victim_shaped and s.failed]
    two = replace(facts, sessions=tuple(s for s in facts.sessions if s not in copies[2:]))
    seen = observations(two, world.deployment)
    assert {o.value for o in seen if o.observable == "ended-after"} == {"varying"}
