"""How soon a fault is repeated often enough, and what counts as a repetition."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, World, judgement_after, locate_in

from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.flips import bypass_flips
from exonerate.core.diagnosis.inquiries import next_shape, victim_scene
from exonerate.core.scene import Scene


def answered(world: World) -> Any:
    """The answer about a world."""
    return locate_in(world)


def scenes_of(answer: Any) -> list[str]:
    """The scenes of a run, by the labels of its timeline."""
    labels = [str(lane["label"]) for lane in answer["timeline"] if " round " in str(lane["label"])]
    return list(dict.fromkeys(label.split(" round ")[0] for label in labels))


def test_walks_over_the_number_are_the_repetitions_of_the_founding_story() -> None:
    """A copy of the victim, a walk while it waits and one after: three of three."""
    answer = answered(World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK))
    assert scenes_of(answer) == ["victim-1", "walk-number-2"]
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge"])


def test_a_walk_repeats_as_well_where_one_answer_past_the_hop_was_late() -> None:
    """Late or not, it was answered."""
    late = Answer(wait_s=1.8)

    def rule(asked: Asked) -> Answer:
        if asked.hop == "edge" and asked.on_connection == 4:
            return SILENT
        return late if asked.hop != "edge" and asked.begun_s < 2.0 else OK

    assert scenes_of(answered(World(rule))) == ["victim-1", "walk-number-2"]


def test_a_walk_that_goes_well_repeats_nothing() -> None:
    """A fault of the size is copied a third time before it is named."""
    answer = answered(World(lambda a: SILENT if a.hop == "edge" and a.body_bytes > 2222 else OK))
    copies = [name for name in scenes_of(answer) if name.startswith("victim-")]
    assert len(copies) == 3
    assert answer["outcome"] == "fault"


def test_a_walk_that_hangs_past_the_hop_as_well_does_not_convict_the_hop() -> None:
    """That try is no flip where everything hangs at that time, at the engine too."""

    def rule(asked: Asked) -> Any:
        walking = "walk" in asked.session.name
        bad = asked.on_connection == 4 and (asked.hop == "edge" or walking)
        return SILENT if bad else OK

    answer = answered(World(rule))
    names = scenes_of(answer)
    assert names[:4] == ["victim-1", "walk-number-2", "victim-3", "victim-4"]


def test_a_request_of_a_kind_that_has_passed_is_not_varied_in_kind() -> None:
    """What fails now and then fails neither by its framing nor by asking for a stream."""
    count = [0]

    def rule(asked: Asked) -> Any:
        if asked.hop == "edge":
            count[0] += 1
        return SILENT if asked.hop == "edge" and count[0] % 5 == 0 else OK

    answer = answered(World(rule))
    assert not [name for name in scenes_of(answer) if "axis-stream" in name or "framing" in name]


def beaten(period_s: float, phase_s: float, *hops: str) -> World:
    """Answers of 3.5 s, of which a clock at these hops ends those that it finds under way."""

    def rule(asked: Asked) -> Answer:
        next_s = period_s - (asked.begun_s - phase_s) % period_s
        if asked.hop in hops and next_s < 3.6:
            wait_s = min(0.1, next_s / 2)
            return Answer(wait_s=wait_s, spread_s=next_s - wait_s, cut=True)
        return Answer(spread_s=3.5)

    return World(rule)


def test_a_clock_is_judged_by_the_answers_that_met_a_beat() -> None:
    """Those between two beats go well at the box too, and say nothing of it."""
    answer = answered(beaten(6.0, 2.0, "edge"))
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("periodic-kill", ["edge"])
    assert answer["elapsed_s"] < 60


def test_a_clock_that_ends_answers_at_the_engine_is_not_the_boxs() -> None:
    """The same endings, and past the box as well."""
    answer = answered(beaten(6.0, 2.0, "edge", "inner", "engine"))
    assert not [fault for fault in answer["faults"] if fault["hops"] != ["engine"]]


def test_a_hop_is_not_accused_where_a_request_past_it_hung_as_well() -> None:
    """An engine that loses one request in several can spare every copy of the victim by luck."""

    def rule(asked: Asked) -> Answer:
        beside = asked.session.name.startswith("meanwhile@engine")
        lost = asked.hop == "edge" and asked.on_connection == 3
        return SILENT if lost or beside else OK

    answer = answered(World(rule))
    assert all(fault["hops"] != ["edge"] for fault in answer["faults"])


@pytest.mark.parametrize(("copies", "seen", "flips"), [(3, True, True), (3, False, False),
                                                       (5, False, True)])  # fmt: skip
def test_what_keeps_now_this_request_and_now_that_must_be_told_from_chance(
    copies: int, seen: bool, flips: bool
) -> None:
    """Where nobody saw what left the box, the next one may have lost some at random."""

    def rule(asked: Asked) -> Answer:
        scene = int(asked.session.request.prompt.salt.split("-")[1])
        lost = asked.session.name == "victim@edge" and asked.on_connection == 2 + scene % 2
        return SILENT if lost else OK

    def copy(facts: Facts) -> Scene:
        return victim_scene(world.deployment, next_shape(facts, world.deployment, None), 1)

    world = World(rule, sockets_visible=seen, processes_visible=seen)
    judgement = judgement_after(world, *[copy] * (copies - 1))
    through = judgement.observed("through")
    assert through is not None
    assert (through.times, through.tries) == (copies, copies)
    box = next(r for r in judgement.ratings if r.suspect.id == "drops-requests@edge")
    assert bypass_flips(replace(judgement, ratings=(box,))) is flips


def test_a_box_that_counts_the_requests_of_all_is_convicted_though_a_row_went_well() -> None:
    """Its sockets show that it keeps them; which row of connections meets the count is chance."""

    def rule(asked: Asked) -> Answer:
        lost = asked.hop == "edge" and asked.count % 9 == 8
        return Answer(silent=True, reaches=None) if lost else OK

    answer = answered(World(rule))
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge"])
