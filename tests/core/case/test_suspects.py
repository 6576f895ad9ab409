"""Which suspects a case has and what moves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from exonerate.core.case.model import MEASUREMENT_ARTEFACT, NONE_OF_THESE, Case

Fold = Callable[..., Case]


def suspect(**more: object) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "id": "s",
        "claim": "the knob hangs it",
        "mechanism": "m",
        "predicts": ["p"],
        "predicted_if_false": ["q"],
        **more,
    }
    return ("suspect_added", body)


def state(case: Case) -> str:
    return next(one.state for one in case.suspects if one.id == "s")


def test_two_suspects_come_with_every_case(folded: Fold) -> None:
    """Nobody can open a case that leaves out `measurement artefact` and `none of these`."""
    assert [one.id for one in folded().suspects] == [MEASUREMENT_ARTEFACT, NONE_OF_THESE]


@pytest.mark.parametrize(
    "broken",
    [
        {"predicts": []},
        {"predicts": ["  "]},
        {"predicted_if_false": []},
        {"claim": " "},
        {"predicts": ["same"], "predicted_if_false": ["same"]},
    ],
)
def test_suspect_that_nothing_could_clear_is_not_admitted(
    folded: Fold, broken: dict[str, Any]
) -> None:
    """Without a falsifiable prediction there is no suspect, only a comment that says so."""
    case = folded(suspect(**broken))
    assert "s" not in [one.id for one in case.suspects]
    assert "not admitted" in case.comments[0].text


@pytest.mark.parametrize("kind", ["statement", "document", "measurement"])
def test_evidence_raises_and_never_convicts(folded: Fold, kind: str) -> None:
    """However many people and documents point at a suspect, it is raised and no more."""
    lines: list[object] = [suspect(knob="K")]
    for number in range(5):
        piece = {"id": f"e{number}", "type": kind, "grade": "A", "by": "ann", "raises": ["s"]}
        lines.append(("evidence_added", piece))
        rating = {"suspect": "s", "evidence": f"e{number}", "fit": "CC", "by": "rule"}
        lines.append(("rating_added", rating))
    assert state(folded(*lines)) == "raised"


def test_statement_never_has_a_better_grade_than_e(folded: Fold) -> None:
    """What a person remembers is no measurement, whatever grade it is recorded with."""
    case = folded(("evidence_added", {"id": "e", "type": "statement", "grade": "A"}))
    assert case.evidence[0].grade == "E"


def test_locate_clears_a_knob(folded: Fold) -> None:
    """A knob that `locate` proved innocent is cleared, with the reason."""
    answer = {"outcome": "fault", "faults": [], "cleared": [{"knob": "K", "why": "engine idle"}]}
    case = folded(suspect(knob="K"), ("verdict", {"job": "locate", "answer": answer}))
    assert (case.suspects[0].state, case.suspects[0].why) == ("cleared", "engine idle")


@pytest.mark.parametrize(("hop", "expected"), [("edge", "supported"), ("router", "open")])
def test_conviction_of_the_suspects_own_class_supports_it(
    folded: Fold, hop: str, expected: str
) -> None:
    """A fault class that was suspected and proved at that hop is supported, elsewhere it is not."""
    faults = [{"class": "drops-requests", "hops": ["edge"]}]
    answer = {"outcome": "fault", "faults": faults}
    case = folded(
        suspect(**{"class": "drops-requests", "hop": hop}),
        ("verdict", {"job": "locate", "answer": answer}),
    )
    assert state(case) == expected


def test_conflicting_proofs_leave_the_suspect_raised(folded: Fold) -> None:
    """When one experiment refutes what another proved, nobody is convicted."""
    comparison = {
        "arms": ["1", "2"],
        "blocks": 5,
        "metric": "output_tokens_per_s",
        "knob": "K",
        "primary": {"verdict": "flat"},
    }
    faults = [{"class": "slow-kernel", "hops": ["engine"]}]
    case = folded(
        suspect(**{"knob": "K", "class": "slow-kernel"}),
        ("intervention_planned", {"id": "r", "type": "revert", "knob": "K", "from": "2"}),
        ("intervention_done", {"id": "r", "outcome": "committed"}),
        ("verdict", {"job": "ab", "answer": comparison}),
        ("verdict", {"job": "locate", "answer": {"outcome": "fault", "faults": faults}}),
        symptom="slow",
    )
    assert state(case) == "raised"
    assert "conflicts" in case.suspects[0].why


def test_evidence_that_fits_raises(folded: Fold) -> None:
    """A document that somebody rated as fitting raises the suspect; one that does not, does not."""
    piece = ("evidence_added", {"id": "e", "type": "document", "source": "plan.md"})
    for fit, expected in [("C", "raised"), ("I", "open"), ("N", "open")]:
        rating = ("rating_added", {"suspect": "s", "evidence": "e", "fit": fit, "by": "human"})
        assert state(folded(suspect(), piece, rating)) == expected


def test_second_suspect_of_the_same_id_does_not_replace_the_first(folded: Fold) -> None:
    """What was claimed first stays; nothing in a ledger is edited by adding."""
    case = folded(suspect(claim="first"), suspect(claim="second"))
    assert [one.claim for one in case.suspects if one.id == "s"] == ["first"]
    assert "another suspect has this id" in case.comments[0].text
