"""Gives many tables to all explanations at once; a linear fit is one matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exonerate.core.waves.fit import (
    CONSTANTS,
    Array,
    Explanation,
    columns,
    design,
    features,
    is_flat,
    shape,
)
from exonerate.core.waves.table import Table

TIE = 1e-9
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One attention term: its projection, and the row that gives the attention constant."""

    hat: Array
    attention: Array


class Search:
    """The best of all explanations on one table, and on any other table of the same cells.

    A table here is a row of step times in milliseconds. `patterns` counts the explanations that
    differ on these cells.
    """

    def __init__(self, table: Table, explanations: Sequence[Explanation]) -> None:
        self.concurrency, self.throughput = columns(table)
        self.step_ms: Array = 1000.0 * self.concurrency / self.throughput
        line = np.column_stack([np.ones_like(self.concurrency), self.concurrency])
        self.line: Array = line @ np.linalg.pinv(line)
        self._patterns = self._distinct(table, explanations)
        self.patterns = len(self._patterns)
        errors = self._errors(self.step_ms[None, :])[:, 0]
        smooth = float(self._smooth(self.step_ms[None, :])[0])
        self._leader = int(np.argmin(errors)) if len(errors) else None
        self.rmse_observed = min(float(errors.min(initial=np.inf)), smooth)
        self.ratio_observed = self.rmse_observed / max(smooth, TIE)

    def rmse_best(self, tables: Array) -> Array:
        """Smallest error in tokens per second that any explanation reaches on each table."""
        smooth = self._smooth(tables)[None, :]
        best: Array = np.vstack([self._errors(tables), smooth]).min(axis=0)
        return best

    def rules_best(self, tables: Array) -> list[int]:
        """Which pattern is best on each table; see `leader` for that of the measured one."""
        return [int(index) for index in np.argmin(self._errors(tables), axis=0)]

    @property
    def leader(self) -> int | None:
        """The pattern that is best on the measured table; None where nothing was tried."""
        return self._leader

    def ratios(self, tables: Array) -> tuple[Array, Array]:
        """Error over the straight line's for each table: best of all, and of today's leader."""
        best, alone = [np.empty(0)], [np.empty(0)]
        for begin in range(0, len(tables), _CHUNK):
            chunk = tables[begin : begin + _CHUNK]
            smooth = np.maximum(self._smooth(chunk), TIE)
            errors = np.vstack([self._errors(chunk), smooth])
            leader = errors[-1 if self._leader is None else self._leader]
            best.append(errors.min(axis=0) / smooth)
            alone.append(np.minimum(leader, smooth) / smooth)
        return np.concatenate(best), np.concatenate(alone)

    def _distinct(self, table: Table, explanations: Sequence[Explanation]) -> list[_Pattern]:
        found: dict[bytes, _Pattern] = {}
        for explanation in explanations:
            relative = features(table, explanation)
            key = shape(self.concurrency, relative)
            if key not in found and not is_flat(self.concurrency, relative):
                matrix = design(self.concurrency, relative)
                assert matrix.shape[1] == CONSTANTS
                inverse = np.linalg.pinv(matrix)
                found[key] = _Pattern(matrix @ inverse, inverse[2])
        return list(found.values())

    def _smooth(self, tables: Array) -> Array:
        return self._rmse(tables @ self.line.T, tables)

    def _errors(self, tables: Array) -> Array:
        """One row per pattern; a pattern that would need negative attention gets no credit."""
        smooth = tables @ self.line.T
        errors = np.empty((len(self._patterns), len(tables)))
        for row, pattern in zip(errors, self._patterns, strict=True):
            helps = (tables @ pattern.attention > 0)[:, None]
            row[:] = self._rmse(np.where(helps, tables @ pattern.hat.T, smooth), tables)
        return errors

    def _rmse(self, fitted_ms: Array, tables_ms: Array) -> Array:
        # A step cannot take no time; a fit that says so is simply very wrong.
        fitted = 1000.0 * self.concurrency / np.maximum(fitted_ms, TIE)
        error = fitted - 1000.0 * self.concurrency / tables_ms
        rmse: Array = np.sqrt(np.mean(error**2, axis=1))
        return rmse
