"""Two faults on one path: both are named, each on its own evidence, and never an innocent hop."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.world import OK, SILENT, Answer, Asked, Load, World, locate_in

Fault = Callable[[Asked], Answer | None]
REFUSED = Answer(status=413, wait_s=0.01, spread_s=0.0)


def drops(number: int) -> Fault:
    """Swallow the nth request of a connection."""
    return lambda asked: SILENT if asked.on_connection == number else None


def refuses(limit: int) -> Fault:
    """Refuse large bodies."""
    return lambda asked: REFUSED if asked.body_bytes > limit else None


def answers(**fields: Any) -> Fault:
    """Change every answer in the same way."""
    return lambda _: replace(OK, **fields)


def cuts_long_answers(asked: Asked) -> Answer | None:
    """End what takes long; a few tokens do not."""
    return replace(OK, cut=True) if asked.session.request.max_tokens > 8 else None


FAULTS: Mapping[str, tuple[Fault, set[str]]] = {
    "drops-requests": (drops(3), {"drops-requests"}),
    "request-refused": (refuses(1800), {"request-refused"}),
    "corruption": (answers(defects=("framing-in-body",)), {"corruption"}),
    "lost ending": (answers(lost_ending=True), {"corruption"}),
    "buffering": (answers(wait_s=0.45, spread_s=0.001), {"buffering"}),
    "total-timer": (cuts_long_answers, {"total-timer", "idle-timer"}),
}
BEFORE = ("drops-requests", "request-refused")
"""Faults that a request meets on its way in; the others change the answer on its way out."""


def merged(inner: Answer, outer: Answer) -> Answer:
    """What a client sees of an answer that two boxes have changed."""
    return replace(
        outer,
        wait_s=max(inner.wait_s, outer.wait_s),
        spread_s=min(inner.spread_s, outer.spread_s),
        cut=inner.cut or outer.cut,
        lost_ending=inner.lost_ending or outer.lost_ending,
        defects=inner.defects + outer.defects,
    )


def path(edge: str | None, inner: str | None) -> Callable[[Asked], Answer]:
    """A path whose boxes misbehave by these names; requests meet the outer one first."""

    def rule(asked: Asked) -> Answer:
        passed = {"edge": [edge, inner], "inner": [inner], "engine": []}[asked.hop]
        names = [name for name in passed if name is not None]
        for name in names:
            if name in BEFORE and (stopped := FAULTS[name][0](asked)) is not None:
                return stopped
        answer = OK
        for name in reversed(names):
            changed = FAULTS[name][0](asked) if name not in BEFORE else None
            answer = merged(answer, changed) if changed is not None else answer
        return answer

    return rule


def accused(answer: Any) -> dict[str, str]:
    """The class by the hop that each fault names."""
    return {fault["hops"][0]: fault["class"] for fault in answer["faults"]}


@pytest.mark.parametrize(("edge", "inner"), list(itertools.permutations(FAULTS, 2)))
def test_a_pair_of_faults_never_accuses_an_innocent_and_never_the_wrong_box(
    edge: str, inner: str
) -> None:
    """What is said of a box is what that box does; what one hides of the other stays unsaid."""
    answer: Any = locate_in(World(path(edge, inner)))
    for hop, kind in accused(answer).items():
        guilty = {"edge": FAULTS[edge][1], "inner": FAULTS[inner][1]}
        assert kind in guilty.get(hop, set()), answer["paragraph"]
    evidence = [set(fault["evidence"]) for fault in answer["faults"]]
    assert not evidence[1:] or not evidence[0] & evidence[1]


@pytest.mark.parametrize(
    ("edge", "inner", "both"),
    [
        ("drops-requests", "corruption", {"edge": "drops-requests", "inner": "corruption"}),
        ("buffering", "total-timer", {"edge": "buffering", "inner": "total-timer"}),
        ("corruption", "request-refused", {"edge": "corruption", "inner": "request-refused"}),
    ],
)
def test_two_faults_that_can_both_be_seen_are_both_named(
    edge: str, inner: str, both: dict[str, str]
) -> None:
    """Two entries, each with its own evidence; the sentence tells of both."""
    world = World(path(edge, inner), sockets_visible=edge != "buffering")
    answer: Any = locate_in(world, budget_s=200)
    assert accused(answer) == both, answer["paragraph"]
    assert "And another one" in answer["paragraph"]


def test_a_box_that_drops_requests_is_named_beside_a_saturated_engine() -> None:
    """Being busy explains late answers, and not those that never come."""

    def rule(asked: Asked) -> Answer:
        return SILENT if asked.hop == "edge" and asked.on_connection == 3 else Answer(wait_s=2.5)

    world = World(rule, load=Load(running=1, waiting=12, tokens_per_s=100))
    assert accused(locate_in(world, budget_s=300)) == {"edge": "drops-requests"}


@pytest.mark.parametrize("budget_s", [30, 60, 90])
def test_a_busy_engine_does_not_excuse_what_never_reached_it(budget_s: float) -> None:
    """Where the budget ends too early the answer is open, and not that nobody is at fault."""

    def rule(asked: Asked) -> Answer:
        return SILENT if asked.hop == "edge" else Answer(wait_s=2.5)

    world = World(rule, load=Load(running=1, waiting=12, tokens_per_s=100))
    answer: Any = locate_in(world, budget_s=budget_s)
    assert answer["outcome"] != "no_fault", answer["paragraph"]
    assert set(accused(answer)) <= {"edge"}


def test_one_fault_is_one_fault() -> None:
    """Nothing remains once it is explained, and no time is spent on looking for more."""
    for name in FAULTS:
        alone: Any = locate_in(World(path(name, None)))
        assert set(accused(alone)) <= {"edge"}
        assert len(alone["faults"]) <= 1


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from([None, *FAULTS]),
    st.sampled_from([None, *FAULTS]),
    st.sampled_from([Load(), Load(running=2, waiting=3, tokens_per_s=40.0)]),
)
def test_whatever_two_boxes_do_the_engine_and_sound_boxes_stay_innocent(
    edge: str | None, inner: str | None, load: Load
) -> None:
    """Also while the engine is busy with others."""
    answer: Any = locate_in(World(path(edge, inner), load=load))
    guilty = {hop for hop, name in (("edge", edge), ("inner", inner)) if name is not None}
    assert set(accused(answer)) <= guilty, answer["paragraph"]


def test_a_timer_that_cuts_what_an_inner_box_holds_back_is_named_beside_it() -> None:
    """The answer would have come, late and whole: who ends it does that of his own."""

    def rule(asked: Asked) -> Answer:
        if asked.hop == "engine":
            return replace(OK, wait_s=0.1, spread_s=2.4)
        if asked.hop == "inner":
            return replace(OK, wait_s=2.5, spread_s=0.001)
        return Answer(status=504, wait_s=1.2)

    answer: Any = locate_in(World(rule, sockets_visible=False))
    named = {(f["class"], f["hops"][0]) for f in answer["faults"]}
    assert named == {("idle-timer", "edge"), ("buffering", "inner")}
