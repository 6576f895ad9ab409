"""Leave one out the honest way: without the left-out cell, the rule is chosen again as well."""

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
    """Rule chosen without each cell, and the error of what it then predicts for that cell."""

    chosen: tuple[str, ...]
    rmse: float

    def same(self, label: str) -> int:
        """In how many cells the choice is this one."""
        return self.chosen.count(label)


def reselected(table: Table, explanations: Sequence[Explanation]) -> Reselection:
    """Choose and fit on all cells but one, predict that one; for every cell."""
    concurrency, measured = columns(table)
    relatives = [features(table, explanation) for explanation in explanations]
    chosen, errors = [], []
    for left_out in range(len(table.cells)):
        kept = np.arange(len(table.cells)) != left_out
        fits = [_fit(concurrency[kept], relative[kept], measured[kept]) for relative in relatives]
        best = min(range(len(fits)), key=lambda index: fits[index][0])
        solved = fits[best][1]
        predicted = solved.throughput(int(concurrency[left_out]), float(relatives[best][left_out]))
        chosen.append(explanations[best].label)
        errors.append(predicted - float(measured[left_out]))
    return Reselection(tuple(chosen), root_mean_square(errors))


def _fit(concurrency: Array, relative: Array, measured: Array) -> tuple[float, Coefficients]:
    solved = least_squares(concurrency, relative, 1000.0 * concurrency / measured)
    step_ms = solved.fixed_ms + solved.per_request_ms * concurrency + solved.attention_ms * relative
    return root_mean_square(1000.0 * concurrency / step_ms - measured), solved
