"""Which comparisons are the same evidence: pasted copies count once, contradictions are flagged.

Two tables hold the same numbers when every cell of the smaller one (two at least) has the same
values in the larger one. Values of independent runs never agree to all printed digits in several
cells, so a table that agrees in at least half of its cells and differs in others is a copy that
was altered, or the source was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from exonerate.core.documents.grade import capped, one_lower
from exonerate.core.documents.model import Comparison, Source

CELLS_SHARED_MIN = 2
Kinship: TypeAlias = Literal["copy", "contradicts", "none"]


def grouped(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources with an independence group on each comparison, copies marked."""
    seen: list[tuple[str, Comparison]] = []
    done = []
    for source in sources:
        comparisons = []
        for comparison in source.comparisons:
            placed = _placed(comparison, source, seen)
            seen.append((source.path, placed))
            comparisons.append(placed)
        done.append(replace(source, comparisons=tuple(comparisons)))
    return tuple(_contradictions_flagged(done))


def kinship(first: Comparison, second: Comparison) -> Kinship:
    """How the numbers of two comparisons relate."""
    one, other = _numbers(first), _numbers(second)
    shared = set(one) & set(other)
    if len(shared) < CELLS_SHARED_MIN:
        return "none"
    same = [cell for cell in shared if _equal(one[cell], other[cell])]
    if len(same) == len(shared) and len(shared) == min(len(one), len(other)):
        return "copy"
    return "contradicts" if 2 * len(same) >= len(shared) and len(same) < len(shared) else "none"


def _placed(
    comparison: Comparison, source: Source, seen: Sequence[tuple[str, Comparison]]
) -> Comparison:
    for path, earlier in seen:
        if kinship(earlier, comparison) == "copy":
            where = f"line {earlier.line}" if path == source.path else f"{path}:{earlier.line}"
            note = f"a copy of the table at {where}: the same independence group, counted once"
            same_document = path == source.path
            grade = earlier.grade if same_document else comparison.grade
            return replace(
                comparison,
                group=earlier.group,
                copy_of=where,
                grade=max(grade, comparison.grade),
                why=(note, *comparison.why),
            )
    return replace(comparison, group=_group_name(comparison))


def _contradictions_flagged(sources: Sequence[Source]) -> list[Source]:
    flagged = list(sources)
    for position, source in enumerate(sources):
        others = [other for other in sources if other is not source]
        for index, comparison in enumerate(source.comparisons):
            for other, rival in _rivals(comparison, others):
                flagged[position] = _flag(flagged[position], index, other, rival)
    return flagged


def _rivals(
    comparison: Comparison, others: Sequence[Source]
) -> Iterator[tuple[Source, Comparison]]:
    for other in others:
        for rival in other.comparisons:
            if kinship(comparison, rival) == "contradicts":
                yield other, rival


def _flag(source: Source, index: int, other: Source, rival: Comparison) -> Source:
    """The source with a warning; printed tables lose a grade, data files keep theirs."""
    comparison = source.comparisons[index]
    cells = ", ".join(f"{cell:g}" for cell in _differing(comparison, rival))
    why = f"contradicted by {other.path}:{rival.line} at {comparison.cell_kind} {cells}"
    warning = f"line {comparison.line}: {why}"
    comparisons = list(source.comparisons)
    if source.format == "markdown":
        comparisons[index] = capped(comparison, one_lower(comparison.grade), why)
    return replace(source, comparisons=tuple(comparisons), warnings=(*source.warnings, warning))


def _numbers(comparison: Comparison) -> dict[float, tuple[tuple[float, float], ...]]:
    """Per cell the (number, half step) of both arms, where both are there."""
    numbers = {}
    for row in comparison.cells:
        if len(row.values) == 2:
            pair = [row.values[arm] for arm in comparison.arms]
            numbers[row.cell] = tuple((value.number, value.half_step) for value in pair)
    return numbers


def _equal(one: tuple[tuple[float, float], ...], other: tuple[tuple[float, float], ...]) -> bool:
    return all(
        abs(a - b) <= (max(step_a, step_b)) * (1 + 1e-9)
        for (a, step_a), (b, step_b) in zip(one, other, strict=True)
    )


def _differing(one: Comparison, other: Comparison) -> list[float]:
    numbers, others = _numbers(one), _numbers(other)
    shared = sorted(set(numbers) & set(others))
    return [cell for cell in shared if not _equal(numbers[cell], others[cell])]


def _group_name(comparison: Comparison) -> str:
    """A name that depends on the numbers alone, so that every reading gives the same one."""
    numbers = sorted(
        (cell, tuple(number for number, _ in values))
        for cell, values in _numbers(comparison).items()
    )
    return "table-" + hashlib.sha256(repr(numbers).encode()).hexdigest()[:12]
