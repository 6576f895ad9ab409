"""Fits the wave model to a throughput table, one explanation at a time.

    step time  T = a + b C + c x        ordinary least squares, in milliseconds
    tokens/s   = C / T                  batch = concurrency, one token per request and step

`x` is the relative attention time that a rule gives a cell; it holds no constant that is fitted.
`a` is what a step costs anyway, `b` what each request adds, `c` the attention of one unsplit
request. Attention cannot save time, so `c < 0` counts as no effect, which is the smooth model
`a + b C`: the rival that has to be beaten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from exonerate.core.waves.table import Table

Array: TypeAlias = NDArray[np.float64]
TimeOf: TypeAlias = Callable[[int, int], float]

CONSTANTS = 3
_FLAT = 1e-9


@dataclass(frozen=True, slots=True)
class Explanation:
    """A rule with its work units per request; `time_of(C, target)` is the relative attention."""

    name: str
    units: int
    time_of: TimeOf
    follows_target: bool

    @property
    def label(self) -> str:
        """Name and units as one word, such as `2C target_ctas:ceil`."""
        return f"{self.units}C {self.name}" if self.units else self.name


@dataclass(frozen=True, slots=True)
class Coefficients:
    """a, b and c in milliseconds; `c` is 0 where attention explains nothing."""

    fixed_ms: float
    per_request_ms: float
    attention_ms: float

    def throughput(self, concurrency: int, relative: float) -> float:
        """Tokens per second that the model gives."""
        return 1000.0 * concurrency / self.step_ms(concurrency, relative)

    def step_ms(self, concurrency: int, relative: float) -> float:
        """Milliseconds of one decode step."""
        return self.fixed_ms + self.per_request_ms * concurrency + self.attention_ms * relative


@dataclass(frozen=True, slots=True)
class FittedCell:
    """One cell: measured, fitted, and predicted by a fit that did not see it."""

    concurrency: int
    target: int
    measured: float
    fitted: float
    left_out: float
    relative: float
    attention_share: float


@dataclass(frozen=True, slots=True)
class Fit:
    """One explanation fitted; errors are in tokens per second.

    `same_as` names the explanations that no cell of this table tells from this one.
    """

    explanation: Explanation
    coefficients: Coefficients
    cells: tuple[FittedCell, ...]
    rmse: float
    rmse_left_out: float
    same_as: tuple[str, ...] = ()

    @property
    def error_max(self) -> float:
        """Largest error of a cell."""
        return max(abs(cell.fitted - cell.measured) for cell in self.cells)


def smooth() -> Explanation:
    """The rival without waves: step time is a straight line in the concurrency."""
    return Explanation("no wave term", 0, lambda _c, _t: 0.0, False)


def features(table: Table, explanation: Explanation) -> Array:
    """The relative attention time of every cell."""
    return np.array([explanation.time_of(c.concurrency, c.target) for c in table.cells])


def fit(table: Table, explanation: Explanation) -> Fit:
    """Least squares of one explanation, with each cell predicted by the others."""
    relative = features(table, explanation)
    concurrency, measured = columns(table)
    step_ms = 1000.0 * concurrency / measured
    coefficients = least_squares(concurrency, relative, step_ms)
    left_out = [
        _without(index, concurrency, relative, step_ms) for index in range(len(table.cells))
    ]
    cells = tuple(
        _cell(coefficients, float(other), c.concurrency, c.target, (c.value, float(x)))
        for c, x, other in zip(table.cells, relative, left_out, strict=True)
    )
    return Fit(
        explanation,
        coefficients,
        cells,
        root_mean_square([cell.fitted - cell.measured for cell in cells]),
        root_mean_square([cell.left_out - cell.measured for cell in cells]),
    )


def columns(table: Table) -> tuple[Array, Array]:
    """Concurrency and throughput of every cell."""
    return (
        np.array([float(cell.concurrency) for cell in table.cells]),
        np.array([cell.value for cell in table.cells]),
    )


def design(concurrency: Array, relative: Array) -> Array:
    """The matrix of the regression; two columns where the third would say nothing new."""
    line = np.column_stack([np.ones_like(concurrency), concurrency])
    if is_flat(concurrency, relative):
        return line
    return np.column_stack([line, relative])


def is_flat(concurrency: Array, relative: Array) -> bool:
    """Whether the attention term is a straight line in the concurrency, hence no explanation."""
    line = np.column_stack([np.ones_like(concurrency), concurrency])
    rest = relative - line @ np.linalg.lstsq(line, relative, rcond=None)[0]
    return bool(np.linalg.norm(rest) <= _FLAT * max(1.0, float(np.linalg.norm(relative))))


def ranked(table: Table, explanations: Sequence[Explanation]) -> tuple[Fit, ...]:
    """Every distinct explanation fitted, best first; indistinguishable ones are named in one."""
    groups: dict[bytes, list[Explanation]] = {}
    concurrency, _ = columns(table)
    for explanation in explanations:
        groups.setdefault(shape(concurrency, features(table, explanation)), []).append(explanation)
    fits = []
    for group in groups.values():
        best = fit(table, group[0])
        same = tuple(other.label for other in group[1:])
        fits.append(replace(best, same_as=same))
    return tuple(sorted(fits, key=lambda one: one.rmse))


def shape(concurrency: Array, relative: Array) -> bytes:
    """The part of the attention term that a straight line cannot take over, as a direction."""
    if is_flat(concurrency, relative):
        return b"flat"
    line = np.column_stack([np.ones_like(concurrency), concurrency])
    rest = relative - line @ np.linalg.lstsq(line, relative, rcond=None)[0]
    direction: Array = np.round(rest / np.linalg.norm(rest), 6) + 0.0
    return direction.tobytes()


def least_squares(concurrency: Array, relative: Array, step_ms: Array) -> Coefficients:
    """a, b and c of the best straight fit; without attention where it would have to be negative."""
    matrix = design(concurrency, relative)
    solved = np.linalg.lstsq(matrix, step_ms, rcond=None)[0]
    if len(solved) == CONSTANTS and solved[2] > 0:
        return Coefficients(float(solved[0]), float(solved[1]), float(solved[2]))
    line = np.linalg.lstsq(matrix[:, :2], step_ms, rcond=None)[0]
    return Coefficients(float(line[0]), float(line[1]), 0.0)


def _without(index: int, concurrency: Array, relative: Array, step_ms: Array) -> float:
    """Throughput of one cell, predicted by a fit that has not seen it."""
    kept = np.arange(len(step_ms)) != index
    other = least_squares(concurrency[kept], relative[kept], step_ms[kept])
    return other.throughput(int(concurrency[index]), float(relative[index]))


def _cell(
    coefficients: Coefficients,
    left_out: float,
    concurrency: int,
    target: int,
    measured_relative: tuple[float, float],
) -> FittedCell:
    measured, relative = measured_relative
    step_ms = coefficients.step_ms(concurrency, relative)
    return FittedCell(
        concurrency,
        target,
        measured,
        coefficients.throughput(concurrency, relative),
        left_out,
        relative,
        coefficients.attention_ms * relative / step_ms,
    )


def root_mean_square(errors: Sequence[float] | Array) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))
