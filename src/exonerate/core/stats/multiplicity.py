"""Several cells at once: how the error is shared out.

Intervals and verdicts of cells use Bonferroni (each cell gets alpha / k), because an interval has
to match its verdict and Holm's step-down has no matching intervals. Holm serves where only the
test counts: the scan for scaling anomalies.
"""

from __future__ import annotations

import numpy as np

from exonerate.core.stats.intervals import FloatArray


def bonferroni(alpha: float, family: int) -> float:
    """The share of `alpha` that each of `family` tests may use."""
    return alpha / max(1, family)


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's adjusted p values along the last axis, shape (..., tests); NaN stays NaN.

    Sorted upwards, the i-th p (from 0) becomes max over j <= i of (m - j) p_j, at most 1, where m
    counts the tests that are not NaN (Holm, Scandinavian Journal of Statistics 1979).
    """
    p = np.where(np.isnan(p_values), np.inf, p_values)
    order = np.argsort(p, axis=-1)
    tests = np.isfinite(p).sum(axis=-1, keepdims=True)
    factors = np.maximum(tests - np.arange(p.shape[-1]), 1)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return np.where(np.isnan(p_values), np.nan, adjusted)
