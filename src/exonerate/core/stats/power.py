"""What an experiment of n blocks could show, before it is run.

`noise` is the coefficient of variation of one cell's value from restart to restart (SD of its
logarithm). A block difference then has SD sqrt(2) noise and its mean sqrt(2 / n) noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from exonerate.core.stats.intervals import FloatArray, t_quantile
from exonerate.core.stats.multiplicity import bonferroni
from exonerate.core.stats.stopping import ALPHA, FIXED, Plan
from exonerate.core.stats.verdicts import BLOCKS_MIN

POWER_WANTED = 0.8
BLOCKS_SEARCHED_MAX = 100
_QUADRATURE_POINTS = 400
_BISECTIONS = 60
_SHIFT_BOTH_SIDES = 6.0


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely each verdict is."""

    better: float
    worse: float
    flat: float
    undecided: float


def power(effect: float, *, blocks: int, noise: float, family: int = 1) -> float:
    """The probability that the two-sided t-test at 5 % sees `effect` (a logarithm), exactly.

    1 - F(t_c) + F(-t_c) with F the noncentral t of n - 1 degrees of freedom and noncentrality
    effect / (noise sqrt(2 / n)) (Owen, Biometrika 1965). 0 below two blocks.
    """
    if blocks < 2:
        return 0.0
    df = blocks - 1
    shift = abs(effect) / (noise * np.sqrt(2.0 / blocks))
    critical = float(t_quantile(1 - bonferroni(ALPHA, family) / 2, df))
    # Far below the noncentrality `nctdtr` loses its way (NaN), and the tail is below 1e-9 there.
    wrong_side = float(special.nctdtr(df, shift, -critical)) if shift < _SHIFT_BOTH_SIDES else 0.0
    return 1 - float(special.nctdtr(df, shift, critical)) + wrong_side


def smallest_visible_effect(
    *, blocks: int, noise: float, family: int = 1, wanted: float = POWER_WANTED
) -> float | None:
    """The effect (a logarithm) that `blocks` blocks see with probability `wanted` (the MDE).

    Found by bisection of `power`; None below two blocks.
    """
    if blocks < 2:
        return None
    low, high = 0.0, noise
    for _ in range(_BISECTIONS):
        if power(high, blocks=blocks, noise=noise, family=family) >= wanted:
            break
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        seen = power(middle, blocks=blocks, noise=noise, family=family) >= wanted
        low, high = (low, middle) if seen else (middle, high)
    return high


def verdict_odds(
    effect: float,
    *,
    blocks: int,
    noise: float,
    margin: float,
    family: int = 1,
    plan: Plan = FIXED,
) -> Odds:
    """The odds of each verdict of one look when the truth is `effect` (a logarithm).

    The mean of d is normal and its SD a scaled chi, independent of it; the rule is an interval of
    the mean once the SD is given, so the odds are the mean over quantiles of the chi of normal
    probabilities (Owen's Q by quadrature).
    """
    if blocks < BLOCKS_MIN:
        return Odds(0.0, 0.0, 0.0, 1.0)
    error_true = noise * np.sqrt(2.0 / blocks)
    points = (np.arange(_QUADRATURE_POINTS) + 0.5) / _QUADRATURE_POINTS
    chi2 = 2 * special.gammaincinv((blocks - 1) / 2, points)
    error_seen = error_true * np.sqrt(chi2 / (blocks - 1))  # (points,)
    n = np.array(blocks)
    delta = np.log1p(margin)
    edge = np.maximum(plan.critical_t(n, family) * error_seen, delta)
    flat_edge = np.maximum(delta - plan.flat_critical_t(n) * error_seen, 0.0)

    def below(limit: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr((limit - effect) / error_true), dtype=np.float64)

    better = float((1 - below(edge)).mean())
    worse = float(below(-edge).mean())
    flat = float((below(flat_edge) - below(-flat_edge)).mean())
    return Odds(better, worse, flat, max(0.0, 1 - better - worse - flat))


def blocks_to_settle(
    effect: float,
    *,
    noise: float,
    margin: float,
    family: int = 1,
    plan: Plan = FIXED,
    more_than: int = 0,
) -> int | None:
    """The fewest blocks (above `more_than`) that end in some verdict four times out of five.

    Takes `effect` and `noise` for the truth, as far as they are known. None when 100 blocks would
    not do: an effect at the margin itself can be proven neither flat nor material.
    """
    low, high = max(BLOCKS_MIN, more_than + 1), BLOCKS_SEARCHED_MAX

    def settles(blocks: int) -> bool:
        odds = verdict_odds(
            effect, blocks=blocks, noise=noise, margin=margin, family=family, plan=plan
        )
        return odds.undecided <= 1 - POWER_WANTED

    if low > high or not settles(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle + 1, high)
    return low


def windows_per_restart(
    *, restart_cost_s: float, window_cost_s: float, restart_sd: float, window_sd: float
) -> int:
    """Windows to measure inside each restart for the tightest result in a given time.

    k = sqrt(restart cost / window cost * window variance / restart variance), at least 1
    (Kalibera and Jones, ISMM 2013). Only restarts buy degrees of freedom.
    """
    best = np.sqrt(restart_cost_s / window_cost_s) * window_sd / restart_sd
    return max(1, round(float(best)))
