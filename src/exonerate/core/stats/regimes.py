"""Restarts that come up in one of two regimes, and regimes that were never seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exonerate.core.stats.intervals import FloatArray

GAP_MIN = 0.03
"""Regimes of real engines (placement, clocks, autotuning) lie 5 to 10 % apart."""
GAP_PER_SD_MIN = 3.0
"""Normal noise of 2 % looks like two regimes in fewer than 5 % of 4 to 8 restarts (the tests)."""
RESTARTS_PER_REGIME_MIN = 2


@dataclass(frozen=True, slots=True)
class Regimes:
    """Two groups of restarts: how far apart (a logarithm) and how many in each."""

    gap: float
    restarts_low: int
    restarts_high: int


def two_regimes(log_values: FloatArray) -> Regimes | None:
    """The split of restarts into two regimes, or None; `log_values` is (restarts,) of one arm.

    The largest gap between neighbours of the sorted values counts when it is at least 3 %, three
    times the SD inside the groups, and leaves two restarts on each side. A description that warns:
    the block t-test stays valid in its presence, but *flat* is then hardly ever reached.
    """
    ordered = np.sort(log_values)
    least = RESTARTS_PER_REGIME_MIN
    if ordered.size < 2 * least:
        return None
    gaps = np.diff(ordered)[least - 1 : ordered.size - least]
    cut = int(np.argmax(gaps)) + least
    low, high = ordered[:cut], ordered[cut:]
    gap = float(high[0] - low[-1])
    inside = float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum())
    sd = float(np.sqrt(inside / (ordered.size - 2)))
    if gap < GAP_MIN or gap < GAP_PER_SD_MIN * sd:
        return None
    return Regimes(gap, int(low.size), int(high.size))


def unseen_regime_rate_max(restarts: int, *, level: float = 0.95) -> float:
    """The highest rate of a regime that n clean restarts leave possible: 1 - (1 - level)**(1/n)."""
    return float(1 - (1 - level) ** (1 / restarts)) if restarts > 0 else 1.0
