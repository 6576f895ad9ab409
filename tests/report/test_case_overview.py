"""Cases as an operator reads them."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.case.model import Case, Evidence, Suspect, UnplayedScene
from exonerate.report.case_overview import case_overview_text, cases_text

CASE = Case(
    id="case-1",
    title="Agent hangs",
    symptom="hang",
    deployment=None,
    opened_at="2026-01-01T00:00:00Z",
    suspects=(
        Suspect(
            id="knob",
            claim="512 hangs it",
            mechanism="",
            predicts=("a",),
            predicted_if_false=("b",),
            added_at="",
            state="refuted",
            why="the symptom persisted",
        ),
    ),
    evidence=(
        Evidence(
            id="e1",
            type="statement",
            source="ann",
            by="ann",
            statement="a proxy acted up",
            recorded_at="",
            grade="E",
            group="g",
        ),
    ),
)


def test_case_shows_suspects_with_state_and_evidence_with_grade() -> None:
    """One page tells who is suspected, what became of it and what was said."""
    shown = case_overview_text(CASE)
    for part in ("Agent hangs", "refuted", "the symptom persisted", "grade E", "a proxy acted up"):
        assert part in shown


def test_unfinished_comes_first() -> None:
    """What a crash left behind stands above everything else on the page."""
    scene = UnplayedScene(run="r1", scene="s1", why="", planned_at="")
    shown = case_overview_text(replace(CASE, unplayed=(scene,)))
    assert shown.index("unfinished") < shown.index("suspects")
    assert "scene s1 of run r1 was planned and not played" in shown


def test_empty_ledger_is_said() -> None:
    """An empty list is a sentence, not an empty screen."""
    assert cases_text([]) == "no case in this ledger"
