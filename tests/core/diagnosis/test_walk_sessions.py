"""Walks as sessions: small rows at a hop and past it, also while the victim's own request waits."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, Rule, World, judgement_after, locate_in

from exonerate.core.diagnosis.walk_sessions import beside_name, repeats_in_walks, walk_name

QUICK = Answer(wait_s=0.05, spread_s=0.02)


def quick(asked: Asked) -> Answer:
    """Small requests, and those that a cache knows, are answered sooner."""
    return QUICK if "walk" in asked.session.name or asked.session.connection == "fresh" else OK


def silent_at(number: int) -> Rule:
    """A box that keeps the request of that number on a connection."""
    return lambda a: SILENT if a.hop == "edge" and a.on_connection == number else quick(a)


def lanes_of(answer: Any) -> set[str]:
    """The kinds of sessions of a run."""
    return {bar["lane"].partition("@")[0] for bar in answer["timeline"]}


@pytest.mark.parametrize("number", [2, 3])
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
        hangs = asked.on_connection == 3 and (asked.hop == "edge" or small)
        return SILENT if hangs else quick(asked)

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
    names = {
        *(walk_name("number", hop, time) for hop in ("edge", "inner") for time in (1, 2)),
        *(beside_name("engine", hop, time) for hop in ("edge", "inner") for time in (1, 2)),
    }
    assert len(names) == 8


@pytest.mark.parametrize("walked", [2, 3, 5])
def test_a_walk_that_fails_at_another_request_repeats_nothing(walked: int) -> None:
    """What loses requests at random is not what lost the victim's."""

    def rule(asked: Asked) -> Answer:
        number = walked if asked.session.name.startswith("walk-") else 4
        return SILENT if asked.hop == "edge" and asked.on_connection == number else quick(asked)

    assert repeats_in_walks(judgement_after(World(rule)).facts, "edge") == 0


def test_a_walk_that_fails_in_another_way_repeats_nothing() -> None:
    """A limit of rate that the walk meets is no request that is kept."""
    limited = Answer(status=429, wait_s=0.01, spread_s=0.0)

    def rule(asked: Asked) -> Answer:
        if asked.hop != "edge" or asked.on_connection != 4:
            return quick(asked)
        return limited if asked.session.name.startswith("walk-") else SILENT

    assert repeats_in_walks(judgement_after(World(rule)).facts, "edge") == 0


def test_a_row_that_was_cut_short_is_no_row_that_went_well() -> None:
    """It has to have been answered as far as the walk came."""

    def rule(asked: Asked) -> Answer:
        if asked.session.name.startswith("beside-walk") and asked.on_connection == 4:
            return Answer(wait_s=60.0)
        return silent_at(4)(asked)

    assert repeats_in_walks(judgement_after(World(rule)).facts, "edge") == 0


def test_a_box_with_a_slash_in_its_name_is_walked_as_well() -> None:
    """A name is whatever the operator calls it."""
    named = World(lambda a: SILENT if a.hop == "web/edge" and a.on_connection == 3 else quick(a))
    hops = [
        replace(h, name="web/edge" if h.name == "edge" else h.name) for h in named.deployment.hops
    ]
    hops = [replace(h, behind=tuple(b.replace("edge", "web/edge") for b in h.behind)) for h in hops]
    named.deployment = replace(named.deployment, hops=tuple(hops))
    assert repeats_in_walks(judgement_after(named).facts, "web/edge") == 2
