"""Answers kept under way at a box that seems to end them at moments of its own."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in, record, start_records

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.diagnosis.endings import APART_S
from exonerate.core.diagnosis.facts import read_facts
from exonerate.core.diagnosis.localiser import decide
from exonerate.core.diagnosis.observables import observations
from exonerate.core.scene import Scene
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


def records_of(world: World) -> list[Record]:
    """Everything that a run writes down before its verdict."""
    records = start_records(world)
    while not isinstance(decided := decide(records), Verdict):
        records.append(record(records, "scene_planned", {"scene": scene_to_json(decided)}))
        events = [event_to_json(event) for event in world.play(decided)]
        records.append(record(records, "scene_played", {"scene": decided.id, "events": events}))
    return records


@pytest.mark.parametrize("period_s", [4.5, 6.0, 8.0])
def test_a_clock_is_convicted_by_the_answers_that_were_kept_under_way(period_s: float) -> None:
    """Whatever its period: the answers at the box stop together, those past it go on."""
    answer: Any = locate_in(beaten(period_s, "edge"), budget_s=75.0)
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("periodic-kill", ["edge"])
    assert fault["details"]["period_s"] == pytest.approx(period_s, rel=0.05)


@pytest.mark.parametrize("period_s", [4.5, 6.0, 8.0])
def test_nearly_always_two_answers_that_began_apart_are_under_way_at_the_box(
    period_s: float,
) -> None:
    """And never more than two; past the box there is one at least."""
    records = records_of(beaten(period_s, "edge"))
    rounds = [
        (s.scene, s.hop, r.exchange.begun_ns / 1e9, r.exchange.ended_ns / 1e9)
        for s in read_facts(records).sessions
        for r in s.rounds
        if s.scene.startswith("beats-")
    ]
    for scene in {scene for scene, *_ in rounds}:
        at_box, past = (
            [(begun, ended) for one, hop, begun, ended in rounds if (one, hop) == (scene, name)]
            for name in ("edge", "inner")
        )
        first_s, last_s = sorted(begun for begun, _ in at_box)[1], max(b for b, _ in at_box)
        moments = [first_s + tenth / 10 for tenth in range(1, int((last_s - first_s) * 10))]
        under_way = [sum(b < at_s < e for b, e in at_box) for at_s in moments]
        assert set(under_way) <= {0, 1, 2}
        assert under_way.count(2) > 0.6 * len(moments)
        assert {sum(b < at_s < e for b, e in past) for at_s in moments} <= {1, 2}
        assert min(b - a for a, b in pairwise(sorted(b for b, _ in at_box))) >= APART_S
    assert rounds


def test_no_answers_are_kept_under_way_where_endings_go_by_a_count() -> None:
    """A box that stops at the same request after the same time has no clock."""

    def rule(asked: Asked) -> Answer:
        ended = asked.hop == "edge" and asked.on_connection == 3
        return Answer(spread_s=ANSWER_S, cut=ended)

    assert not [s for s in read_facts(records_of(World(rule))).scenes if s.id.startswith("beats-")]


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
