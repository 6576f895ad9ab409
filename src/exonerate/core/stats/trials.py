"""Trials: one value for each restart and cell, and the arrays that the analysis takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from exonerate.core.stats.intervals import FloatArray

Cell: TypeAlias = int | float
"""A concurrency, or a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one cell of one restart gave. `order` is the place of the restart in its block, from 1.

    `line` is where it stands in a file, if it came from one.
    """

    block: str
    order: int
    arm: str
    cell: Cell
    value: float
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TrialTable:
    """The trials of two arms as arrays.

    `log_values` is (2 arms, blocks, cells), NaN where a trial is missing; `first` is (blocks,):
    which arm (0 baseline, 1 candidate) ran first, NaN where the order does not say.
    """

    arms: tuple[str, str]
    blocks: tuple[str, ...]
    cells: tuple[Cell, ...]
    log_values: FloatArray
    first: FloatArray

    @property
    def differences(self) -> FloatArray:
        """ln(candidate) - ln(baseline), shape (blocks, cells); NaN without both."""
        return np.asarray(self.log_values[1] - self.log_values[0], dtype=np.float64)


def tabulate(trials: Sequence[Trial], arms: tuple[str, str]) -> TrialTable:
    """Arrange the trials of two arms; blocks in the order they appear, cells ascending."""
    used = [trial for trial in trials if trial.arm in arms]
    blocks = tuple(dict.fromkeys(trial.block for trial in used))
    cells = tuple(sorted({trial.cell for trial in used}))
    block_at = {block: index for index, block in enumerate(blocks)}
    cell_at = {cell: index for index, cell in enumerate(cells)}
    log_values = np.full((2, len(blocks), len(cells)), np.nan)
    orders: dict[tuple[int, int], list[int]] = {}
    for trial in used:
        arm, block = arms.index(trial.arm), block_at[trial.block]
        log_values[arm, block, cell_at[trial.cell]] = np.log(trial.value)
        orders.setdefault((arm, block), []).append(trial.order)
    first = np.array([_first_arm(orders, block) for block in range(len(blocks))], dtype=np.float64)
    return TrialTable(arms, blocks, cells, log_values, first)


def _first_arm(orders: dict[tuple[int, int], list[int]], block: int) -> float:
    """Which arm of a block came first; a mean, because some number every row of a block."""
    if (0, block) not in orders or (1, block) not in orders:
        return np.nan
    baseline, candidate = (float(np.mean(orders[arm, block])) for arm in range(2))
    return np.nan if baseline == candidate else float(candidate < baseline)
