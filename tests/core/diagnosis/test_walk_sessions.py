"""Walks as sessions: small rows at a hop and past it, also while the victim's own request waits."""

from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, Rule, World, judgement_after, locate_in

from exonerate.core.diagnosis.walk_sessions import beside_name, repeats_in_walks, walk_name


def silent_at(number: int) -> Rule:
    """A box that keeps the request of that number on a connection."""
    return lambda a: SILENT if a.hop == "edge" and a.on_connection == number else OK


def lanes_of(answer: Any) -> set[str]:
    """The kinds of sessions of a run."""
    return {bar["lane"].partition("@")[0] for bar in answer["timeline"]}


@pytest.mark.parametrize("number", [2, 3, 5])
def test_a_count_is_repeated_while_its_first_hang_is_waited_for(number: int) -> None:
    """Twice, so that the first scene is enough; the rows past the box go well."""
    judgement = judgement_after(World(silent_at(number)))
    assert repeats_in_walks(judgement.facts, "edge") == 2
    answer: Any = locate_in(World(silent_at(number)))
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge"])
    assert fault["details"]["after_requests"] == number - 1
    begun = [bar["begin_s"] for bar in answer["timeline"] if bar["lane"] == "victim@edge"]
    assert len(begun) == number, "the victim is not copied a second time"


def test_a_walk_fails_only_where_the_row_past_the_box_does_not() -> None:
    """What fails on both sides at once is not the box's doing."""

    def rule(asked: Asked) -> Answer:
        small = "walk" in asked.session.name
        return SILENT if asked.on_connection == 3 and (asked.hop == "edge" or small) else OK

    assert repeats_in_walks(judgement_after(World(rule)).facts, "edge") == 0


def test_no_walk_is_taken_where_new_connections_fail_as_well() -> None:
    """Then it is not the number on the connection that counts."""
    answer: Any = locate_in(World(lambda a: SILENT if a.hop == "edge" and a.count >= 4 else OK))
    assert not {lane for lane in lanes_of(answer) if lane.startswith("beside-walk")}


def test_being_gentle_walks_in_no_wait() -> None:
    """Nothing is sent while a round waits that can be sent later, or not at all."""
    answer: Any = locate_in(World(silent_at(4)), gentle=True)
    waits = [bar for bar in answer["timeline"] if bar["state"] == "hung"]
    walks = [bar for bar in answer["timeline"] if bar["lane"].startswith("walk-")]
    hung = [bar for bar in waits if bar["lane"].startswith("victim@")]
    assert hung
    assert not [
        walk for walk in walks for wait in hung if wait["begin_s"] < walk["begin_s"] < wait["end_s"]
    ]


def test_rows_of_two_boxes_have_names_of_their_own() -> None:
    """Both may be walked in one scene, and be compared with the same hop."""
    assert beside_name("engine", "edge") != beside_name("engine", "inner")
    assert walk_name("number", "edge", 2) == "walk-number@edge/2"
