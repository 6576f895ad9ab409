"""What the records say that one value of a knob gives compared with another.

Two kinds of evidence have prices: verdicts of `ab` (an interval, grade by number of blocks) and
documents taken in by `read` (two numbers, grade D for one run a cell). Grade E has no price: a
number without its environment is no basis for money.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.case.answers import arms_of, blocks_grade, knob_of, objects_in
from exonerate.core.case.model import GRADES, Case, Evidence, Grade, RecordedVerdict
from exonerate.core.json_types import Json, JsonObject

METRIC_PREFERENCE: tuple[str, ...] = (
    "output_tokens_per_s",
    "total_tokens_per_s",
    "requests_per_s",
)
LOWER_IS_BETTER: tuple[str, ...] = ("ttft", "itl", "tpot", "e2e", "latency", "wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a cell loses at value `live` compared with value `was`, as a fraction.

    `knob` is None where the source does not name one; then only its two values can tell.
    """

    knob: str | None
    live: str
    was: str
    cell: float | str
    cell_kind: str
    metric: str
    loss: float
    ci: tuple[float, float] | None
    grade: Grade
    source: str
    group: str
    at: str
    fingerprint: str | None = None


def prices_of(cases: Iterable[Case]) -> tuple[Price, ...]:
    """Every price in the evidence and the verdicts of the cases, in both directions."""
    found: list[Price] = []
    for case in cases:
        for piece in case.evidence:
            found += _document_prices(piece)
        for verdict in case.verdicts:
            if verdict.job == "ab":
                found += _comparison_prices(case, verdict)
    return tuple(found)


def names_knob(name: str | None, knob: str) -> bool:
    """True when a document's name for a knob is the knob's or the end of it."""
    return name is not None and (name == knob or knob.endswith((f"_{name}", f"-{name}")))


def _document_prices(piece: Evidence) -> Iterator[Price]:
    reading = piece.content.get("reading")
    if not isinstance(reading, Mapping):
        return
    for source in objects_in(reading, "sources"):
        for comparison in objects_in(source, "comparisons"):
            if comparison.get("copy_of") is None:
                yield from _table_prices(piece, comparison)


def _table_prices(piece: Evidence, comparison: JsonObject) -> Iterator[Price]:
    grade = comparison.get("grade", piece.grade)
    metric = str(comparison.get("metric", ""))
    knob = piece.content.get("knob") or comparison.get("knob")
    if grade not in GRADES or grade == "E":
        return
    for cell in objects_in(comparison, "cells"):
        values = cell.get("values")
        numbers = _numbers(values) if isinstance(values, Mapping) else {}
        for live, was in _ordered_pairs(list(numbers)):
            yield Price(
                knob=str(knob) if knob else None,
                live=live,
                was=was,
                cell=_cell_name(cell.get("cell")),
                cell_kind=_cell_kind(comparison),
                metric=metric,
                loss=_loss(numbers[live], numbers[was], metric.startswith(LOWER_IS_BETTER)),
                ci=None,
                grade=grade,  # type: ignore[arg-type]  # one of GRADES, as tested above
                source=f"{piece.source}:{comparison.get('line', '')}".rstrip(":"),
                group=piece.group,
                at=piece.recorded_at,
                fingerprint=piece.fingerprint,
            )


def _comparison_prices(case: Case, verdict: RecordedVerdict) -> Iterator[Price]:
    answer = verdict.answer
    arms, grade = arms_of(answer), blocks_grade(answer)
    if len(arms) != 2 or grade == "E":
        return
    lower = answer.get("lower_is_better") is True
    for cell in objects_in(answer, "cells"):
        effect, interval = _number(cell.get("effect")), _interval(cell.get("ci"))
        if effect is None or effect <= -1 or cell.get("verdict") == "invalid":
            continue
        for live, was in _ordered_pairs(arms):
            candidate_was = was == arms[1]
            bounds = None
            if interval is not None:
                bounds = sorted(_effect_loss(end, candidate_was, lower) for end in interval)
            yield Price(
                knob=knob_of(case, verdict),
                live=live,
                was=was,
                cell=_cell_name(cell.get("cell")),
                cell_kind=_cell_kind(answer),
                metric=str(answer.get("metric", "")),
                loss=_effect_loss(effect, candidate_was, lower),
                ci=(bounds[0], bounds[1]) if bounds is not None else None,
                grade=grade,
                source=verdict.id,
                group=verdict.id,
                at=verdict.at,
                fingerprint=_run_fingerprint(answer),
            )


def _effect_loss(effect: float, candidate_was: bool, lower_is_better: bool) -> float:
    """The loss at the live arm when the candidate's value is `1 + effect` of the baseline's."""
    baseline, candidate = 1.0, 1.0 + effect
    live, was = (baseline, candidate) if candidate_was else (candidate, baseline)
    return _loss(live, was, lower_is_better)


def _loss(live: float, was: float, lower_is_better: bool) -> float:
    """The part of the performance at `was` that is missing at `live`; below zero it gained."""
    return 1.0 - was / live if lower_is_better else 1.0 - live / was


def _ordered_pairs(arms: Sequence[str]) -> list[tuple[str, str]]:
    return [(live, was) for live in arms for was in arms if live != was]


def _numbers(values: JsonObject) -> dict[str, float]:
    numbers = {arm: _number(value) for arm, value in values.items()}
    return {arm: number for arm, number in numbers.items() if number is not None and number > 0}


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _interval(value: Json) -> tuple[float, float] | None:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        return None
    low, high = _number(value[0]), _number(value[1])
    if low is None or high is None or low <= -1:
        return None
    return low, high


def _cell_name(value: Json) -> float | str:
    return value if isinstance(value, int | float) else str(value)


def _cell_kind(answer: JsonObject) -> str:
    kind = answer.get("cell_kind")
    return kind if isinstance(kind, str) else "concurrency"


def _run_fingerprint(answer: JsonObject) -> str | None:
    fingerprint = answer.get("fingerprint")
    return fingerprint if isinstance(fingerprint, str) else None
