"""Scaling anomalies: more concurrency, less throughput (C96 below C80).

Theory of operation
-------------------
The contrast is taken inside each restart, c_r = ln T(upper) - ln T(lower), so that the restart's
own level cancels. Every pair of neighbouring cells is scanned in each arm, with one-sided t-tests
and Holm over the pairs of that arm's ladder. The variance of a pair's contrast is pooled over the
arms (their mean differs, their noise is taken to be alike), which buys the degrees of freedom that
three restarts do not have.

- **anomaly**: the upper bound of c lies below -delta_s, familywise;
- **suspected**: only the point estimate does, or c is surely below 0 without surely reaching
  -delta_s; also all that a table with one run per cell, or fewer than 3 restarts, can say;
- **excluded**: the lower bound of c lies above -delta_s.

`removed_by` another arm: the difference in differences c_other - c_arm, paired by block, is surely
above 0 and the other arm's own point estimate shows no drop over the margin.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from exonerate.core.stats.intervals import SD_IDENTICAL, FloatArray, spread, t_cdf, t_quantile
from exonerate.core.stats.multiplicity import holm
from exonerate.core.stats.stopping import ALPHA
from exonerate.core.stats.verdicts import BLOCKS_MIN

AnomalyVerdict: TypeAlias = Literal["anomaly", "suspected", "excluded"]
Cell: TypeAlias = int | float

SCALING_MARGIN = 0.02
NOTHING, EXCLUDED, SUSPECTED, ANOMALY = range(4)
_NAMES: dict[int, AnomalyVerdict] = {
    EXCLUDED: "excluded",
    SUSPECTED: "suspected",
    ANOMALY: "anomaly",
}


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One pair of neighbouring cells of one arm.

    `drop` is 1 - T(upper) / T(lower), positive for a fall; `removed_by` names the other arm.
    """

    arm: str
    cells: tuple[Cell, Cell]
    drop: float
    verdict: AnomalyVerdict
    removed_by: str | None
    restarts: int


def scan(log_values: FloatArray, *, margin: float = SCALING_MARGIN) -> FloatArray:
    """Codes (`NOTHING`, `EXCLUDED`, `SUSPECTED`, `ANOMALY`) of every arm and neighbouring pair.

    `log_values` is (..., arms, restarts, cells) with cells in ascending order and NaN where a
    value is missing; the result is (..., arms, cells - 1).
    """
    found = spread(np.diff(log_values, axis=-1))  # (..., arms, pairs)
    limit = np.log1p(-margin)
    df = np.maximum(found.n - 1, 0)
    df_pooled = df.sum(axis=-2, keepdims=True)
    squares = np.where(df > 0, found.sd**2 * df, 0.0).sum(axis=-2, keepdims=True)
    sd = np.sqrt(squares / np.maximum(df_pooled, 1))
    told = (found.n >= BLOCKS_MIN) & (sd > SD_IDENTICAL)
    error = np.where(told, sd / np.sqrt(np.maximum(found.n, 1)), np.nan)
    below_margin = holm(t_cdf((found.mean - limit) / error, df_pooled)) < ALPHA
    below_zero = holm(t_cdf(found.mean / error, df_pooled)) < ALPHA
    excluded = found.mean - t_quantile(1 - ALPHA, df_pooled) * error > limit
    return np.select(
        [below_margin, (found.mean < limit) | below_zero, excluded],
        [ANOMALY, SUSPECTED, EXCLUDED],
        default=NOTHING,
    ).astype(np.float64)


def removal_shown(contrast_arm: FloatArray, contrast_other: FloatArray) -> bool:
    """Whether the other arm's contrast surely lies above this arm's; both are (blocks,), paired.

    One-sided t at 5 % on the difference in differences c_other - c_arm of each block.
    """
    change = spread((contrast_other - contrast_arm)[:, None])
    n, sd = int(change.n[0]), float(change.sd[0])
    if n < BLOCKS_MIN or sd <= SD_IDENTICAL:
        return False
    bound = float(change.mean[0]) - float(t_quantile(1 - ALPHA, n - 1)) * sd / np.sqrt(n)
    return bool(bound > 0)


def find_anomalies(
    log_values: FloatArray,
    *,
    arms: tuple[str, str],
    cells: Sequence[Cell],
    margin: float = SCALING_MARGIN,
) -> tuple[Anomaly, ...]:
    """Every pair that is an anomaly or suspected in an arm, with the same pair of the other arm.

    `log_values` is (2 arms, blocks, cells), cells ascending. The other arm's pair is listed when
    it says something (excluded, or the same fault).
    """
    codes = scan(log_values, margin=margin)
    contrasts = np.diff(log_values, axis=-1)  # (2, blocks, pairs)
    found = []
    for pair in range(len(cells) - 1):
        if codes[:, pair].max() < SUSPECTED:
            continue
        for arm in range(2):
            name = _NAMES.get(int(codes[arm, pair]))
            if name is None:
                continue
            own, other = contrasts[arm, :, pair], contrasts[1 - arm, :, pair]
            removed = (
                name != "excluded"
                and _mean(other) > np.log1p(-margin)
                and removal_shown(own, other)
            )
            found.append(
                Anomaly(
                    arms[arm],
                    (cells[pair], cells[pair + 1]),
                    float(-np.expm1(_mean(own))),
                    name,
                    arms[1 - arm] if removed else None,
                    int((~np.isnan(own)).sum()),
                )
            )
    return tuple(found)


def suspected_in_table(
    values: Sequence[tuple[Cell, float]], *, arm: str, margin: float = SCALING_MARGIN
) -> tuple[Anomaly, ...]:
    """The drops of a table with one value per cell: `suspected` at most, whatever their size."""
    ladder = sorted(values)
    return tuple(
        Anomaly(arm, (low, high), 1 - upper / lower, "suspected", None, 1)
        for (low, lower), (high, upper) in itertools.pairwise(ladder)
        if lower > 0 and 1 - upper / lower > margin
    )


def _mean(contrasts: FloatArray) -> float:
    return float(spread(contrasts[:, None]).mean[0])
