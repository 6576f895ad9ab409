"""What may be said of a fit: the word is computed from named requirements, never chosen.

`accepted` needs all of them. A best rule that chance matches too often is `not supported`. What
lies between is a `hypothesis`. Where the table itself is too small, repeated too little or its
size unexplained, the verdict says that the data do not suffice, whatever the p-value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.waves.fit import Fit
from exonerate.core.waves.physical import PhysicalCheck
from exonerate.core.waves.reselection import Reselection
from exonerate.core.waves.table import Table

P_MAX = 0.05
CONCURRENCIES_NEEDED = 8
REPEATS_NEEDED = 3


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that must hold before the model is accepted.

    `of_data` marks those that only more or better measurements can meet.
    """

    what: str
    met: bool
    found: str
    of_data: bool


# What cannot be done with a hypothesis, and with the lack of one, while data are short.
_OPEN = {"hypothesis": "accept", "not supported": "decide"}


@dataclass(frozen=True, slots=True)
class FitVerdict:
    """`word` is accepted, hypothesis or not supported; `sufficient` says whether data sufficed."""

    word: str
    sufficient: bool
    requirements: tuple[Requirement, ...]

    @property
    def conclusive(self) -> bool:
        """Whether the question is answered, either way."""
        return self.word == "accepted" or (self.sufficient and self.word == "not supported")

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        if self.word == "accepted":
            return "accepted"
        if self.sufficient:
            return self.word
        return f"{self.word}; insufficient data to {_OPEN[self.word]}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What the verdict is computed from; `ps` are all p-values, the wide search among them."""

    best: Fit
    smooth: Fit
    ps: Sequence[float]
    reselection: Reselection
    physical: PhysicalCheck


def judge(table: Table, findings: Findings) -> FitVerdict:
    """The verdict of a fit."""
    requirements = (*_of_data(table, findings.physical), *_of_fit(findings))
    chance = max(findings.ps)
    if all(one.met for one in requirements):
        word = "accepted"
    elif chance > P_MAX or findings.best.coefficients.attention_ms <= 0:
        word = "not supported"
    else:
        word = "hypothesis"
    sufficient = all(one.met for one in requirements if one.of_data)
    return FitVerdict(word, sufficient, requirements)


def _of_data(table: Table, physical: PhysicalCheck) -> tuple[Requirement, ...]:
    levels, repeats = len(table.concurrencies), table.repeats_min
    return (
        Requirement(
            f"at least {CONCURRENCIES_NEEDED} distinct concurrencies",
            levels >= CONCURRENCIES_NEEDED,
            str(levels),
            True,
        ),
        Requirement(
            f"at least {REPEATS_NEEDED} restarts per cell",
            repeats >= REPEATS_NEEDED,
            f"{repeats}" if repeats > 1 else "1: the noise of a cell is unknown",
            True,
        ),
        Requirement(
            "attention's share of the step confirmed by a trace",
            physical.state == "passes",
            physical.why,
            physical.state == "unverified",
        ),
    )


def _of_fit(findings: Findings) -> tuple[Requirement, ...]:
    chance = max(findings.ps)
    best, smooth = findings.best, findings.smooth
    same = findings.reselection.same(best.explanation.label)
    cells = len(best.cells)
    return (
        Requirement(
            f"chance fits as well at most {P_MAX:g} of the time, all rules tried",
            chance <= P_MAX,
            f"p = {chance:.3g}",
            False,
        ),
        Requirement(
            "cells left out are predicted at least twice as well as by the straight line",
            2 * best.rmse_left_out <= smooth.rmse_left_out,
            f"{best.rmse_left_out:.1f} against {smooth.rmse_left_out:.1f} tokens/s",
            False,
        ),
        Requirement(
            "the same rule is chosen whichever cell is left out",
            same == cells,
            f"{same} of {cells}",
            False,
        ),
    )
