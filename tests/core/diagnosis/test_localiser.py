"""The localiser in a simulated world: who is convicted, who is cleared, and when nobody is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.world import OK, SILENT, Answer, Asked, Load, World, locate_in, start_records

from exonerate.core.diagnosis.localiser import decide
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Scene, WatchPackets


def fault_of(answer: JsonObject) -> Mapping[str, Any]:
    """The one fault of an answer."""
    faults = answer["faults"]
    assert isinstance(faults, Sequence)
    assert len(faults) == 1, answer["paragraph"]
    fault = faults[0]
    assert isinstance(fault, Mapping)
    return fault


def cleared_names(answer: JsonObject) -> set[str]:
    """Hops and knobs that the answer clears."""
    cleared: Any = answer["cleared"]
    return {str(item.get("hop") or item.get("knob")) for item in cleared}


def passes(*hops: str) -> set[str]:
    """Entries whose requests pass the given hops."""
    return set(hops)


def test_a_box_that_swallows_the_fourth_request_of_a_connection_is_named() -> None:
    """The founding story: the box, its class, its scope and its count; engine and knob cleared."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    answer = locate_in(world)
    fault = fault_of(answer)
    assert answer["outcome"] == "fault"
    assert (fault["layer"], fault["hops"], fault["class"]) == ("proxy", ["edge"], "drops-requests")
    assert fault["details"]["scope"] == "socket"
    assert fault["details"]["after_requests"] == 3
    assert fault["confidence"] > 0.95
    assert {"inner", "engine", "TARGET_CTAS"} <= cleared_names(answer)


def test_the_inner_of_two_boxes_is_named_when_both_entries_fail() -> None:
    """A fault at the second hop shows at the first as well, and is not blamed on it."""
    world = World(lambda a: SILENT if a.hop != "engine" and a.on_connection == 3 else OK)
    fault = fault_of(locate_in(world))
    assert fault["hops"] == ["inner"]
    assert fault["details"]["after_requests"] == 2


def test_with_one_face_unseen_the_boundary_is_named_and_not_the_box() -> None:
    """Without socket counters nobody saw that the request did not leave the box."""
    world = World(
        lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK,
        sockets_visible=False,
    )
    answer = locate_in(world)
    for fault in answer["faults"]:  # type: ignore[union-attr]  # a list
        assert fault["layer"] == "boundary"  # type: ignore[index,call-overload]  # an object
        assert fault["hops"] == ["edge", "inner"]  # type: ignore[index,call-overload]  # an object
    assert answer["not_examined"]


def test_a_healthy_path_accuses_nobody_and_says_what_that_excludes() -> None:
    """`no_fault` comes with the failure rate that so many clean tries exclude."""
    answer = locate_in(World(lambda _: OK))
    assert answer["outcome"] == "no_fault"
    assert answer["faults"] == []
    assert answer["explanation"] is None
    assert "failure rate above" in str(answer["paragraph"])


def test_a_saturated_engine_is_explained_and_not_accused() -> None:
    """Everybody waits, also past the proxy, while the engine works for others with a queue."""
    world = World(lambda _: SILENT, load=Load(running=1, waiting=4 + 8, tokens_per_s=100))
    answer = locate_in(world)
    assert answer["outcome"] == "no_fault"
    assert answer["explanation"]["class"] == "saturated"  # type: ignore[index,call-overload]  # object


def test_a_busy_engine_excuses_no_box_whose_answers_alone_are_late() -> None:
    """Past the boxes the first token came at once, all the time."""
    held, told = Answer(wait_s=3.1, spread_s=0.0), Answer(wait_s=0.1, spread_s=3.0)
    load = Load(running=1, tokens_per_s=100)
    boxes = ("edge", "inner")
    answer = locate_in(World(lambda a: held if a.hop in boxes else told, load=load))
    assert answer["outcome"] != "no_fault"


def test_an_engine_that_holds_requests_and_computes_nothing_is_named() -> None:
    """Direct requests hang as well, and no counter moves."""
    world = World(lambda _: SILENT, load=Load(running=9, waiting=9))
    fault = fault_of(locate_in(world))
    assert (fault["layer"], fault["hops"], fault["class"]) == (
        "engine", ["engine"], "scheduler-stuck",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (Answer(lost_ending=True), "corruption"),
        (Answer(defects=("framing-in-body",)), "corruption"),
        (Answer(defects=("invalid-utf8",)), "corruption"),
    ],
)
def test_an_answer_changed_on_the_way_is_blamed_on_the_way(broken: Answer, expected: str) -> None:
    """The same answer is whole past the hop, three times of three."""
    world = World(lambda a: broken if a.hop == "edge" else OK)
    fault = fault_of(locate_in(world))
    assert fault["class"] == expected
    assert fault["hops"][0] == "edge"


def test_corruption_that_also_comes_directly_is_never_blamed_on_a_box() -> None:
    """The engine's own numbers or template are wrong; the proxy passes on what it got."""
    world = World(lambda _: Answer(defects=("special-token",)))
    answer = locate_in(world)
    assert all(f["layer"] == "engine" for f in answer["faults"])  # type: ignore[union-attr,index,call-overload]


def test_one_hang_in_many_rounds_is_not_enough_to_name_anybody() -> None:
    """A single failure that never comes back names nobody."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.count == 3 else OK)
    assert locate_in(world)["faults"] == []


def test_a_budget_too_small_for_repeats_gives_no_conviction() -> None:
    """Seen once is not proven; the answer says what would decide."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    answer = locate_in(world, budget_s=5, gentle=True)
    assert answer["outcome"] == "insufficient_evidence"
    assert answer["next"]


def test_an_engine_that_is_down_is_not_blamed_on_the_proxy() -> None:
    """502 at every proxy because the engine itself does not answer."""
    world = World(
        lambda a: Answer(status=None, cut=True) if a.hop == "engine" else Answer(status=502)
    )
    answer = locate_in(world)
    assert all("edge" not in f["hops"] for f in answer["faults"])  # type: ignore[union-attr,index,operator,call-overload]


@pytest.mark.parametrize(("status", "hint"), [(401, "api_key_env"), (503, "loading")])
def test_an_engine_that_refuses_everybody_gets_the_hint_that_fits(status: int, hint: str) -> None:
    """Nobody is accused of a missing key or of a model that is still being read."""
    answer: Any = locate_in(World(lambda _: Answer(status=status)))
    assert answer["outcome"] == "insufficient_evidence"
    assert hint in answer["next"][0]


INNOCENT_ANSWERS = st.sampled_from(
    [
        OK,
        Answer(wait_s=0.6),
        Answer(wait_s=2.5),
        Answer(status=500),
        Answer(status=429),
        Answer(status=401),
        Answer(cut=True),
        Answer(lost_ending=True),
        Answer(defects=("invalid-utf8",)),
        SILENT,
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(INNOCENT_ANSWERS, min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(0, 40),
)
def test_what_every_entry_shows_alike_is_never_blamed_on_a_box(
    answers: list[Answer], running: int, rate: int
) -> None:
    """Whatever the engine does, proxies that pass it on unchanged stay innocent."""

    def rule(asked: Asked) -> Answer:
        return answers[(asked.on_connection - 1) % len(answers)]

    world = World(rule, load=Load(running=running, waiting=running, tokens_per_s=float(rate)))
    answer: Any = locate_in(world)
    for fault in answer["faults"]:
        assert fault["layer"] == "engine", answer["paragraph"]


@pytest.mark.parametrize(
    ("error", "step"),
    [
        ("the certificate has expired: it must be renewed at the hop", "has expired"),
        ("speaks-http2", 'set `http = "2"`'),
        ("not-http2", "take `http` out"),
    ],
)
def test_a_hop_that_no_probe_could_ask_is_not_accused(error: str, step: str) -> None:
    """A handshake that fails, or another HTTP, says nothing of a hang; the next step says what."""
    answer = locate_in(World(lambda _: Answer(status=None, error=error)))
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    steps: Any = answer["next"]
    assert [line.partition(":")[0] for line in steps] == ["`edge`", "`inner`", "`engine`"]
    assert step in steps[0]


def test_packets_are_watched_in_every_scene_where_they_are_asked_for() -> None:
    """The choice stands in the record that begins the run, so that it can be decided again."""
    (start,) = start_records(World(lambda a: OK))
    for wanted in (False, True):
        body: Any = dict(start.body)
        chosen = {**body, "options": {**body["options"], "packets": wanted}}
        scene = decide([replace(start, body=chosen)])
        assert isinstance(scene, Scene)
        assert any(isinstance(a, WatchPackets) for a in scene.activities) == wanted
