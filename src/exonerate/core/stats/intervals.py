"""Student's t on block differences of logarithms: the interval behind every comparison.

Theory of operation
-------------------
A block is one restart of each arm, back to back. With y = ln(value), a block gives one difference
d_b = y_candidate - y_baseline, so whatever the block had in common (the hour, the drift of the
machine) cancels. The effect is exp(mean d) - 1 and its interval is Student's t on the n
differences, with n - 1 degrees of freedom: the experimental unit is the restart, never the
request and never the time window (Kalibera and Jones, ISMM 2013).

`scipy.special` holds the distribution (`stdtr`, `stdtrit`); `scipy.stats` starts slower and serves
as the oracle of the tests.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

SD_IDENTICAL = 1e-9
"""Differences (of logarithms) closer than this repeat each other; floating point does as much."""

SIGN_FLIP_BLOCKS_MIN = 6
"""2 / 2**6 is the first smallest p below 5 %."""
SIGN_FLIP_BLOCKS_MAX = 16


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, standard deviation and number of the differences along the block axis."""

    mean: FloatArray
    sd: FloatArray
    n: IntArray


def t_quantile(probability: FloatArray | float, df: FloatArray | float) -> FloatArray:
    """The t value below which `probability` of Student's distribution with `df` lies."""
    return np.asarray(special.stdtrit(df, probability), dtype=np.float64)


def t_cdf(t: FloatArray | float, df: FloatArray | float) -> FloatArray:
    """The probability that Student's t with `df` degrees of freedom is at most `t`."""
    return np.asarray(special.stdtr(df, t), dtype=np.float64)


def spread(differences: FloatArray) -> Spread:
    """Mean, SD (divisor n - 1) and n over blocks; NaN marks a block that is missing.

    `differences` is (..., blocks, cells); the three results are (..., cells). SD is NaN below two.
    """
    present = ~np.isnan(differences)
    n = present.sum(axis=-2)
    total = np.where(present, differences, 0.0).sum(axis=-2)
    mean = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    deviations = np.where(present, differences - mean[..., None, :], 0.0)
    squares = (deviations**2).sum(axis=-2)
    variance = np.divide(squares, n - 1, out=np.full(total.shape, np.nan), where=n > 1)
    return Spread(mean, np.sqrt(variance), n)


def paired_interval(differences: FloatArray, *, level: float = 0.95) -> tuple[float, float] | None:
    """mean d -+ t(n - 1) sd / sqrt(n) of one cell's differences, shape (blocks,), in logarithms.

    None below two differences and when they repeat exactly: then nothing is known of the noise.
    """
    found = spread(np.asarray(differences, dtype=np.float64)[:, None])
    n, sd = int(found.n[0]), float(found.sd[0])
    if n < 2 or sd <= SD_IDENTICAL:
        return None
    half = float(t_quantile(0.5 + level / 2, n - 1)) * sd / np.sqrt(n)
    return float(found.mean[0] - half), float(found.mean[0] + half)


def welch_interval(
    baseline: FloatArray, candidate: FloatArray, *, level: float = 0.95
) -> tuple[float, float] | None:
    """Welch's interval of mean(candidate) - mean(baseline), both in logarithms, unpaired.

    For old data without blocks. None when an arm has fewer than two values or no spread at all.
    Degrees of freedom after Satterthwaite (Welch, Biometrika 1947).
    """
    if min(baseline.size, candidate.size) < 2:
        return None
    shares = np.array([arm.var(ddof=1) / arm.size for arm in (baseline, candidate)])
    if shares.sum() <= SD_IDENTICAL**2:
        return None
    sizes = np.array([baseline.size, candidate.size])
    df = float(shares.sum() ** 2 / (shares**2 / (sizes - 1)).sum())
    half = float(t_quantile(0.5 + level / 2, df)) * float(np.sqrt(shares.sum()))
    middle = float(candidate.mean() - baseline.mean())
    return middle - half, middle + half


def sign_flip_p(differences: FloatArray) -> float | None:
    """Exact two-sided p of the sign-flip test on differences, shape (blocks,).

    The distribution-free cross-check: the share of the 2**n sign patterns whose |sum| is at least
    the observed one. None below 6 blocks (it cannot reach 5 % there) and above 16 (too many).
    """
    d = differences[~np.isnan(differences)]
    if not SIGN_FLIP_BLOCKS_MIN <= d.size <= SIGN_FLIP_BLOCKS_MAX:
        return None
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=d.size)))  # (2**n, n)
    sums = np.abs(signs @ d)  # (2**n,)
    tolerance = 1e-12 * float(np.abs(d).sum())
    return float((sums >= abs(float(d.sum())) - tolerance).mean())
