"""What verdicts are worth against a known culprit."""

from __future__ import annotations

import pytest

from exonerate.lab.scenario import Accusation, Expected, ExpectedFault
from exonerate.lab.scoring import details_off, score

EDGE = ExpectedFault(layer="proxy", kind="drops-requests", hops=("edge",))
ONE = Expected(outcome="fault", fault=(EDGE,))
BOTH = Expected(
    outcome="fault",
    fault=(
        ExpectedFault(layer="proxy", kind="buffering", hops=("edge",)),
        ExpectedFault(layer="client", kind="client-timer", hops=("client",)),
    ),
)
NOBODY = Expected(outcome="no_fault", explanation="saturated")


def fault(layer: str, kind: str, *hops: str) -> dict[str, object]:
    """One accusation as a verdict prints it."""
    return {"layer": layer, "class": kind, "hops": list(hops), "confidence": 0.9}


def verdict(*faults: dict[str, object], outcome: str = "fault") -> dict[str, object]:
    """A verdict with these accusations."""
    return {"schema": "exonerate.verdict/1", "outcome": outcome, "faults": list(faults)}


@pytest.mark.parametrize(
    ("given", "points"),
    [
        (verdict(fault("proxy", "drops-requests", "edge")), 1.0),
        (verdict(fault("proxy", "idle-timer", "edge")), 0.5),
        (verdict(fault("proxy", "drops-requests", "mesh")), -3.0),
        (verdict(fault("engine", "scheduler-stuck", "engine")), -3.0),
        (
            verdict(
                fault("proxy", "drops-requests", "edge"), fault("engine", "slot-leak", "engine")
            ),
            -3.0,
        ),
        (verdict(outcome="insufficient_evidence"), 0.0),
        (verdict(outcome="no_fault"), 0.0),
    ],
)
def test_one_culprit(given: dict[str, object], points: float) -> None:
    """The culprit found counts 1, its layer alone 0.5, nobody 0, an innocent accused -3."""
    result = score(ONE, given)
    assert result.points == points
    assert result.false_accusation is (points < 0)


def test_two_culprits() -> None:
    """Each of two culprits counts half; an innocent beside them spoils it."""
    buffering = fault("proxy", "buffering", "edge")
    timer = fault("client", "client-timer", "client")
    assert score(BOTH, verdict(buffering, timer)).points == 1.0
    assert score(BOTH, verdict(timer)).points == 0.5
    assert score(BOTH, verdict(timer, fault("engine", "slot-leak", "engine"))).points == -3.0


def test_nobody_guilty() -> None:
    """Accusing nobody counts 1 with the right explanation, 0.5 with another; accusing costs 3."""
    right = {**verdict(outcome="no_fault"), "explanation": {"class": "saturated"}}
    assert score(NOBODY, right).points == 1.0
    assert score(NOBODY, verdict(outcome="no_fault")).points == 0.5
    assert score(NOBODY, verdict(outcome="insufficient_evidence")).points == 0.0
    assert score(NOBODY, verdict(fault("engine", "slot-leak", "engine"))).points == -3.0
    plain = Expected(outcome="no_fault")
    assert score(plain, right).points == 1.0


def test_order_of_hops_and_other_right_answers() -> None:
    """A boundary is the same in both orders, and a scenario may name answers that are as right."""
    boundary = ExpectedFault(
        layer="boundary",
        kind="stale-reuse",
        hops=("client", "engine"),
        also=(Accusation(layer="client", kind="stale-reuse", hops=("client",)),),
    )
    expected = Expected(outcome="fault", fault=(boundary,))
    turned = verdict(fault("boundary", "stale-reuse", "engine", "client"))
    assert score(expected, turned).points == 1.0
    assert score(expected, verdict(fault("client", "stale-reuse", "client"))).points == 1.0
    assert score(expected, verdict(fault("client", "client-timer", "client"))).points == 0.5


def test_undecidable() -> None:
    """Where nothing can be decided, saying so is the right answer."""
    expected = Expected(outcome="insufficient_evidence")
    assert score(expected, verdict(outcome="insufficient_evidence")).points == 1.0
    assert score(expected, verdict(outcome="no_fault")).points == 0.0
    assert score(expected, verdict(fault("proxy", "buffering", "edge"))).points == -3.0


def test_an_explanation_may_be_as_right_as_a_culprit() -> None:
    """Where the host is short of time, both the host and nobody are right; an innocent is not."""
    starved = Expected(
        outcome="fault",
        explanation="host-starved",
        fault=(ExpectedFault(layer="host", kind="host-starved", hops=("engine",)),),
    )
    explained = {**verdict(outcome="no_fault"), "explanation": {"class": "host-starved"}}
    assert score(starved, explained).points == 1.0
    assert score(starved, verdict(fault("host", "host-starved", "engine"))).points == 1.0
    assert score(starved, verdict(outcome="no_fault")).points == 0.0
    assert score(starved, verdict(fault("engine", "slot-leak", "engine"))).points == -3.0


def test_wrong_details_are_told() -> None:
    """A number within a quarter of the drawn one agrees; a missing or another one is told."""
    timer = ExpectedFault(
        layer="proxy",
        kind="idle-timer",
        hops=("edge",),
        details={"idle_s": 2.0, "scope": "socket"},
    )
    expected = Expected(outcome="fault", fault=(timer,))
    said = {**fault("proxy", "idle-timer", "edge"), "details": {"idle_s": 2.4}}
    assert details_off(expected, verdict(said)) == ["scope is None, was socket"]
    said = {**said, "details": {"idle_s": 3.0, "scope": "socket"}}
    assert details_off(expected, verdict(said)) == ["idle_s is 3.0, was 2.0"]
    said = {**said, "details": {"idle_s": {"ok": 1.0, "bad": 2.1}, "scope": "socket"}}
    assert details_off(expected, verdict(said)) == []
    assert details_off(expected, verdict()) == []
