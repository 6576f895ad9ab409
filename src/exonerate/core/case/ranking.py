"""Suspects in order of what speaks against them: analysis of competing hypotheses.

After R. Heuer, *Psychology of Intelligence Analysis* (CIA, 1999), chapter 8: a hypothesis is not
proved by evidence that fits, because the same evidence fits others; it falls by evidence that does
not fit. So suspects are ordered by weighted inconsistency, and evidence that fits all suspects
alike (diagnosticity 0) moves nothing.

Rules
-----
1. A piece weighs by its grade. Pieces of one independence group count once: the heaviest speaks.
2. For one suspect and piece a rule's rating goes before a person's, a person's before a model's.
3. A suspect that nobody rated stands behind all that were: silence is not consistency.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from exonerate.core.case.model import (
    Evidence,
    Fit,
    Grade,
    RankedSuspect,
    Ranking,
    Rating,
    Suspect,
)

GRADE_WEIGHT: Mapping[Grade, float] = {"A": 1.0, "B": 0.8, "C": 0.5, "D": 0.25, "E": 0.1}
AGAINST: Mapping[Fit, float] = {"I": 1.0, "II": 2.0}
FOR: Mapping[Fit, float] = {"C": 1.0, "CC": 2.0}
RATER_ORDER: Mapping[str, int] = {"rule": 0, "human": 1, "llm": 2}


def rank(
    suspects: Sequence[Suspect], evidence: Sequence[Evidence], ratings: Sequence[Rating]
) -> Ranking:
    """The order of the suspects, and which single pieces of evidence it hangs on."""
    known = {piece.id: piece for piece in evidence}
    fits = _fits(suspects, known, ratings)
    order = _ordered(suspects, known, fits)
    return Ranking(
        suspects=order,
        diagnosticity={piece.id: _diagnosticity(piece, fits) for piece in evidence},
        flipped_by=_flipping(suspects, known, fits),
    )


def _fits(
    suspects: Sequence[Suspect], known: Mapping[str, Evidence], ratings: Iterable[Rating]
) -> dict[tuple[str, str], Fit]:
    """The rating that counts for each suspect and piece of evidence."""
    names = {suspect.id for suspect in suspects}
    fits: dict[tuple[str, str], Fit] = {}
    # The best rater comes last and so has the last word.
    for rating in sorted(ratings, key=lambda rating: -RATER_ORDER.get(rating.by, 1)):
        if rating.suspect in names and rating.evidence in known:
            fits[rating.suspect, rating.evidence] = rating.fit
    return fits


def _ordered(
    suspects: Sequence[Suspect],
    known: Mapping[str, Evidence],
    fits: Mapping[tuple[str, str], Fit],
) -> tuple[RankedSuspect, ...]:
    scored = [
        RankedSuspect(
            suspect=suspect.id,
            inconsistency=_score(suspect, known, fits, AGAINST),
            consistency=_score(suspect, known, fits, FOR),
            ratings=sum(1 for name, piece in fits if name == suspect.id and piece in known),
        )
        for suspect in suspects
    ]
    # Sorting is stable: equals keep the order in which they were suspected.
    return tuple(
        sorted(scored, key=lambda one: (one.ratings == 0, one.inconsistency, -one.consistency))
    )


def _score(
    suspect: Suspect,
    known: Mapping[str, Evidence],
    fits: Mapping[tuple[str, str], Fit],
    points: Mapping[Fit, float],
) -> float:
    by_group: dict[str, float] = {}
    for piece in known.values():
        fit = fits.get((suspect.id, piece.id), "NA")
        score = GRADE_WEIGHT[piece.grade] * points.get(fit, 0.0)
        by_group[piece.group] = max(by_group.get(piece.group, 0.0), score)
    return sum(by_group.values())


def _diagnosticity(piece: Evidence, fits: Mapping[tuple[str, str], Fit]) -> float:
    """How far the piece tells the suspects apart that it was rated for."""
    points = [
        AGAINST.get(fit, 0.0) - FOR.get(fit, 0.0)
        for (_, name), fit in fits.items()
        if name == piece.id and fit != "NA"
    ]
    spread = max(points, default=0.0) - min(points, default=0.0)
    return GRADE_WEIGHT[piece.grade] * spread


def _flipping(
    suspects: Sequence[Suspect],
    known: Mapping[str, Evidence],
    fits: Mapping[tuple[str, str], Fit],
) -> tuple[str, ...]:
    """The pieces without which another suspect would stand first, the weakest first."""
    if not suspects:
        return ()
    first = _ordered(suspects, known, fits)[0].suspect
    flipping = []
    for piece in known.values():
        rest = {name: other for name, other in known.items() if name != piece.id}
        if _ordered(suspects, rest, fits)[0].suspect != first:
            flipping.append(piece)
    flipping.sort(key=lambda piece: GRADE_WEIGHT[piece.grade])
    return tuple(piece.id for piece in flipping)
