"""What randomised comparisons say about a knob as the cause of the case's symptom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exonerate.core.case.answers import arms_of, blocks_grade, knob_of
from exonerate.core.case.model import Case, RecordedVerdict

SYMPTOM_METRICS: Mapping[str, tuple[str, ...]] = {
    "slow": (
        "output_tokens_per_s",
        "total_tokens_per_s",
        "requests_per_s",
        "ttft",
        "itl",
        "tpot",
        "e2e",
        "goodput",
    ),
    "hang": ("hang", "hung"),
    "errors": ("error", "failed"),
    "truncated": ("truncated",),
    "corrupted": ("corrupted",),
}
"""Beginnings of the metrics that measure a symptom; an A/B of anything else says nothing on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomComparison:
    """The suspected value is worse in the symptom's own metric, or shown not to be."""

    worse: bool
    grade: str
    why: str


def symptom_comparison(case: Case, knob: str, *, suspected: str | None) -> SymptomComparison | None:
    """What the last deciding A/B of the knob says about the suspected value, if one does.

    Needs grade A or B (three restarts an arm), the metric of the symptom and a primary verdict of
    better, worse or flat: `undecided` and `invalid` say nothing.
    """
    for verdict in reversed(case.verdicts):
        if verdict.job != "ab" or knob_of(case, verdict) != knob:
            continue
        comparison = _comparison(case, verdict, suspected)
        if comparison is not None:
            return comparison
    return None


def _comparison(
    case: Case, verdict: RecordedVerdict, suspected: str | None
) -> SymptomComparison | None:
    answer = verdict.answer
    arms, grade = arms_of(answer), blocks_grade(answer)
    metric = str(answer.get("metric", ""))
    beginnings = SYMPTOM_METRICS.get(case.symptom or "", ())
    primary = answer.get("primary")
    outcome = primary.get("verdict") if isinstance(primary, Mapping) else None
    if grade not in {"A", "B"} or suspected not in arms or len(arms) != 2:
        return None
    if not metric.startswith(beginnings) or outcome not in {"better", "worse", "flat"}:
        return None
    # The verdict is about the candidate, the second arm.
    guilty = outcome == ("worse" if suspected == arms[1] else "better")
    finding = "is worse than" if guilty else "is not worse than"
    other = arms[0] if suspected == arms[1] else arms[1]
    why = f"a randomised A/B (grade {grade}) shows that {suspected} {finding} {other} in {metric}"
    return SymptomComparison(worse=guilty, grade=grade, why=why)
