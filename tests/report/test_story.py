"""The story of a case as values."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.case.model import Case, UnplayedScene
from exonerate.report.story import Story, tell

NOW = "2025-12-02T18:20:00Z"


def test_evidence_has_age_grade_and_summary(story: Story) -> None:
    """Each piece is told with its age, grade and what it says; a copied table once."""
    said, persists, document = story.evidence
    assert said.summary == "“The 512 line was put in last week; take it out again”"
    assert said.by == "on-call"
    assert persists.age == "5 days"
    assert document.grade == "D"
    assert document.summary == "TARGET_CTAS 256 → 512, output tokens/s"


def test_the_suspect_is_shown_with_what_contradicts_it(story: Story) -> None:
    """The knob's row carries the fits and names the evidence against it."""
    knob = next(row for row in story.suspects if not row.mandatory)
    assert knob.contradicted_by == ("E2",)
    assert knob.fits == ("C", "II", "")
    assert knob.state == "refuted"


def test_the_paragraph_can_be_acted_on(story: Story) -> None:
    """It names the culprit, the cleared, what still stands with its price, and the next step."""
    for part in ("proxy edge", "drops-requests", "Cleared: engine", "10.6 %", "Next: replace"):
        assert part in story.paragraph


def test_a_conviction_outlives_a_later_shrug(case: Case) -> None:
    """A later verdict without enough evidence does not hide the conviction."""
    shrug = replace(case.verdicts[0], id="v-9", seq=99, answer={"outcome": "insufficient_evidence"})
    later = replace(case, verdicts=(*case.verdicts, shrug))
    told = tell(later, now=NOW)
    assert told.verdict is not None
    assert told.verdict.outcome == "fault"


def test_what_a_crash_left_comes_first(case: Case) -> None:
    """A scene without its end is named before anything else."""
    torn = replace(
        case, unplayed=(UnplayedScene(run="r", scene="s", why="w", planned_at=case.opened_at),)
    )
    assert "was not played to its end" in tell(torn, now=NOW).unfinished[0]


def test_debt_that_nobody_asked_for_is_not_called_zero(case: Case) -> None:
    """Without a debt answer the story does not claim that nothing stands."""
    assert not tell(case, now=NOW).debt_known
