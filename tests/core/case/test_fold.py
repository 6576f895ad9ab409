"""Folding: whatever was appended, in whatever state it broke off, gives cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exonerate.core.case.debt import debt, debt_json
from exonerate.core.case.fold import fold_case, fold_cases
from exonerate.core.case.model import Case
from exonerate.core.case.prices import prices_of
from exonerate.core.case.records import Record, RecordKind, canonical_json
from exonerate.errors import ExonerateError

Chain = Callable[..., list[Record]]
Fold = Callable[..., Case]

KEYS = [
    "id",
    "scene",
    "type",
    "knob",
    "from",
    "to",
    "outcome",
    "symptom",
    "suspect",
    "evidence",
    "fit",
    "grade",
    "raises",
    "predicts",
    "predicted_if_false",
    "claim",
    "options",
    "answer",
    "job",
    "confounds",
    "blocks",
    "arms",
    "primary",
    "faults",
    "cleared",
    "fingerprint",
]
words = st.sampled_from(
    [
        "a",
        "b",
        "revert",
        "apply",
        "committed",
        "gone",
        "persists",
        "locate",
        "ab",
        "fault",
        "document",
        "A",
        "I",
    ]
)
values: st.SearchStrategy[Any] = st.recursive(
    words
    | st.none()
    | st.integers(-3, 9)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
bodies = st.dictionaries(st.sampled_from(KEYS), values, max_size=8)
lines = st.lists(
    st.tuples(st.sampled_from(get_args(RecordKind)), bodies, words), min_size=1, max_size=25
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)
@given(lines=lines)
def test_any_records_fold(chain: Chain, lines: list[Any]) -> None:
    """No body, however odd or incomplete, stops a ledger from being read or its debt summed."""
    records = chain(lines)
    cases = fold_cases(records, as_of="2027")
    assert len(cases) == 1
    assert canonical_json(debt_json(debt(cases, {}, prices_of(cases))))
    assert fold_cases(records[: len(records) // 2]) is not None


def test_unknown_case_is_an_error_with_a_way_on(chain: Chain) -> None:
    """Asking for a case that does not exist says how to see those that do."""
    with pytest.raises(ExonerateError, match="no case `c9`"):
        fold_case(chain([("case_opened", {})]), "c9")


def test_case_has_its_opening_and_closing(folded: Fold) -> None:
    """Title, symptom and the end of a case are those recorded."""
    case = folded(("case_closed", {"why": "proxy replaced"}))
    assert (case.title, case.symptom) == ("The harness hangs", "hang")
    assert (case.is_open, case.closed_why) == (False, "proxy replaced")


def test_planned_scene_without_events_is_unfinished(folded: Fold) -> None:
    """A scene that was written down and not played is shown as unfinished, then no more."""
    begun = [
        ("run_started", {"job": "locate", "rules": "3", "seed": 7}, "r1"),
        ("scene_planned", {"scene": {"id": "s1", "why": "ask"}}, "r1"),
    ]
    case = folded(*begun)
    assert [scene.scene for scene in case.unplayed] == ["s1"]
    case = folded(*begun, ("scene_played", {"scene": "s1", "events": []}, "r1"))
    assert not case.is_unfinished
    assert (case.runs[0].scenes_planned, case.runs[0].scenes_played) == (1, 1)
    assert (case.runs[0].seed, case.runs[0].rules) == (7, "3")


def test_run_that_was_wound_up_is_not_unfinished(folded: Fold) -> None:
    """A scene that was cut off is open until its run comes to a verdict all the same."""
    begun = [
        ("run_started", {"job": "ab"}, "r1"),
        ("scene_planned", {"scene": {"id": "s1"}}, "r1"),
    ]
    assert folded(*begun).is_unfinished
    assert not folded(
        *begun, ("verdict", {"id": "v", "job": "ab", "answer": {}}, "r1")
    ).is_unfinished
    other = ("verdict", {"id": "v", "job": "ab", "answer": {}}, "r2")
    assert folded(*begun, other).is_unfinished


def test_verdict_ends_its_run(folded: Fold) -> None:
    """A run that came to a verdict names it."""
    case = folded(
        ("run_started", {"job": "locate"}, "r1"),
        ("verdict", {"id": "v1", "job": "locate", "answer": {"outcome": "no_fault"}}, "r1"),
    )
    assert case.runs[0].verdict == "v1"
    assert case.verdicts[0].answer["outcome"] == "no_fault"


def test_steps_of_a_change_are_its_journal(folded: Fold) -> None:
    """Every step of a change is kept, in order, with its details."""
    case = folded(
        ("intervention_planned", {"id": "r", "type": "revert"}),
        ("intervention_step", {"id": "r", "step": "swapped", "sha256": "ab"}),
        ("intervention_step", {"id": "r", "step": "restarted"}),
    )
    assert [step.step for step in case.interventions[0].steps] == ["swapped", "restarted"]
    assert case.interventions[0].steps[0].detail == {"sha256": "ab"}


def test_comment_carries_no_weight(folded: Fold) -> None:
    """What an assistant writes stands in the case and changes nothing else in it."""
    case = folded(("comment", {"text": "It is surely the knob", "by": "assistant"}))
    assert case.comments[0].by == "assistant"
    assert {one.state for one in case.suspects} == {"open"}
