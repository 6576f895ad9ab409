"""The grade of a comparison: the lowest of the caps that apply, each with its reason.

| Grade | Needs |
|---|---|
| A | random blocks, n >= 5 restarts per arm, raw data, gates, the same environment as now |
| B | >= 3 restarts per arm, both arms same day and host, spread given |
| C | n = 2, or repeats within one restart, or one arm after the other, or no spread |
| D | n = 1 per cell, or a baseline from another day, host or version |
| E | a number without environment, units or load |

Unknown is not good: no stated number of runs is one run, no stated order is sequential. Only A
and B may move a suspect; C and D may raise one or price a debt provisionally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from exonerate.core.documents.model import Comparison, Fact, FactKind, Grade

RESTARTS_A = 5
RESTARTS_B = 3
_ORDER: tuple[Grade, ...] = ("A", "B", "C", "D", "E")
_ENVIRONMENT: tuple[FactKind, ...] = ("host", "gpu", "engine", "driver", "commit", "model")


@dataclass(frozen=True, slots=True)
class Cap:
    """A grade that a comparison cannot exceed, and why."""

    grade: Grade
    why: str


def graded(
    comparison: Comparison,
    *,
    raw_data: bool = False,
    gates: bool = False,
    live: Mapping[str, str] | None = None,
) -> Comparison:
    """The comparison with its grade and every reason, the ones that decide first.

    Args:
        comparison: with the facts that the text round it states.
        raw_data: whether the values come from a data file whose hash is known.
        gates: whether validity gates were recorded with the trials.
        live: facts of today's environment by kind, where they are known.
    """
    caps = [
        *_run_caps(comparison),
        *_context_caps(comparison),
        *_provenance_caps(comparison.facts, raw_data=raw_data, gates=gates, live=live),
    ]
    caps.sort(key=lambda cap: _ORDER.index(cap.grade), reverse=True)
    grade = caps[0].grade if caps else "A"
    return replace(comparison, grade=grade, why=tuple(cap.why for cap in caps))


def capped(comparison: Comparison, grade: Grade, why: str) -> Comparison:
    """The comparison at most at that grade, with one more reason in front."""
    lower = max(comparison.grade, grade, key=_ORDER.index)
    return replace(comparison, grade=lower, why=(why, *comparison.why))


def one_lower(grade: Grade) -> Grade:
    """The next lower grade, at least D: what a contradicted document falls to."""
    return _ORDER[max(min(_ORDER.index(grade) + 1, 4), 3)]


def runs_per_cell(comparison: Comparison) -> tuple[int | None, bool]:
    """The smallest number of runs behind a cell (None: not stated), and whether restarts."""
    if comparison.blocks is not None:
        return comparison.blocks, True
    counts = [value.runs for row in comparison.cells for value in row.values.values() if value.runs]
    stated = _of_kind(comparison.facts, "runs")
    restarts = any("restart" in value for value in stated)
    if counts:
        return min(counts), restarts
    if not stated:
        return None, False
    return min(int(value.split()[0]) for value in stated), restarts


def _run_caps(comparison: Comparison) -> list[Cap]:
    runs, restarts = runs_per_cell(comparison)
    caps = []
    if runs is None:
        caps.append(Cap("D", "n = 1 per cell"))
        caps.append(Cap("D", "no number of runs is stated, and unknown is one"))
    elif runs <= 1:
        caps.append(Cap("D", "n = 1 per cell"))
    elif not restarts:
        caps.append(Cap("C", f"n = {runs} runs per cell, not said to be restarts of the service"))
    elif runs < RESTARTS_B:
        caps.append(Cap("C", f"n = {runs} restarts per arm; {RESTARTS_B} are needed for B"))
    elif runs < RESTARTS_A:
        caps.append(Cap("B", f"n = {runs} restarts per arm; {RESTARTS_A} are needed for A"))
    values = [value for row in comparison.cells for value in row.values.values()]
    if not values or any(value.spread is None for value in values):
        caps.append(Cap("C", "no spread is given"))
    return caps


def _context_caps(comparison: Comparison) -> list[Cap]:
    facts = comparison.facts
    caps = []
    if comparison.unit is None:
        caps.append(Cap("E", "no unit is given for the values"))
    if not any(fact.kind in _ENVIRONMENT for fact in facts):
        caps.append(Cap("E", "no host, GPU, engine or model is named"))
    orders = _of_kind(facts, "order")
    if comparison.blocks is None and not orders:
        caps.append(Cap("C", "the order of the arms is not stated, and unknown is sequential"))
    elif comparison.blocks is None and "interleaved" not in orders:
        caps.append(Cap("C", "one arm was measured after the other"))
    dates = _of_kind(facts, "date")
    if not dates:
        caps.append(Cap("C", "no date is given: the arms may be from different days"))
    elif len(dates) > 1:
        caps.append(Cap("D", f"{len(dates)} dates are given: the arms may be from different days"))
    if not _of_kind(facts, "host"):
        caps.append(Cap("C", "no host is named: the arms may be from different hosts"))
    return caps


def _provenance_caps(
    facts: Sequence[Fact], *, raw_data: bool, gates: bool, live: Mapping[str, str] | None
) -> list[Cap]:
    caps = []
    if not raw_data:
        caps.append(Cap("B", "no raw data: the values are printed ones"))
    if not gates:
        caps.append(Cap("B", "no validity gates are recorded"))
    if live is None:
        caps.append(Cap("B", "not compared with today's environment"))
        return caps
    for kind, value in sorted(live.items()):
        stated = [fact.value for fact in facts if fact.kind == kind]
        if not stated:
            caps.append(Cap("B", f"the {kind} is not stated; today it is {value}"))
        elif not any(value.lower() in text.lower() for text in stated):
            material = kind in ("gpu", "engine", "model")
            caps.append(Cap("D" if material else "B", f"the {kind} was {stated[0]}, now {value}"))
    return caps


def _of_kind(facts: Sequence[Fact], kind: FactKind) -> list[str]:
    return list(dict.fromkeys(fact.value for fact in facts if fact.kind == kind))
