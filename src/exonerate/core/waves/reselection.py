"""Leaving out the honest way: without the left-out cells, the rule is chosen again as well.

Two ways to leave out: one cell, and one concurrency with all its targets. The second is harder,
for nothing measured at that concurrency helps to predict it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exonerate.core.waves.fit import (
    Array,
    Coefficients,
    Explanation,
    columns,
    features,
    least_squares,
    root_mean_square,
)
from exonerate.core.waves.table import Table


@dataclass(frozen=True, slots=True)
class Reselection:
    """Rule chosen without each cell (or concurrency), and the error of the predictions made."""

    chosen: tuple[str, ...]
    rmse: float

    def same(self, label: str) -> int:
        """In how many cases the choice is this one."""
        return self.chosen.count(label)


def reselected(table: Table, explanations: Sequence[Explanation]) -> Reselection:
    """Choose and fit on all cells but one, predict that one; for every cell."""
    return _reselected(table, explanations, [[index] for index in range(len(table.cells))])


def reselected_by_concurrency(table: Table, explanations: Sequence[Explanation]) -> Reselection:
    """Choose and fit on all concurrencies but one, predict all its cells; for every one."""
    groups = [
        [index for index, cell in enumerate(table.cells) if cell.concurrency == concurrency]
        for concurrency in table.concurrencies
    ]
    return _reselected(table, explanations, groups)


def _reselected(
    table: Table, explanations: Sequence[Explanation], groups: Sequence[Sequence[int]]
) -> Reselection:
    concurrency, measured = columns(table)
    relatives = [features(table, explanation) for explanation in explanations]
    chosen, errors = [], []
    for left_out in groups:
        kept = ~np.isin(np.arange(len(table.cells)), left_out)
        fits = [_fit(concurrency[kept], relative[kept], measured[kept]) for relative in relatives]
        best = min(range(len(fits)), key=lambda index: fits[index][0])
        chosen.append(explanations[best].label)
        errors += [
            fits[best][1].throughput(int(concurrency[cell]), float(relatives[best][cell]))
            - float(measured[cell])
            for cell in left_out
        ]
    return Reselection(tuple(chosen), root_mean_square(errors))


def _fit(concurrency: Array, relative: Array, measured: Array) -> tuple[float, Coefficients]:
    solved = least_squares(concurrency, relative, 1000.0 * concurrency / measured)
    step_ms = solved.fixed_ms + solved.per_request_ms * concurrency + solved.attention_ms * relative
    return root_mean_square(1000.0 * concurrency / step_ms - measured), solved
