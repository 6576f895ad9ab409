"""Tail latency: one quantile per restart from raw request records, and when it may be shown.

Rules: a quantile is computed inside one restart and cell, logged, and then compared like a
throughput. Percentiles are never averaged over cells or windows, requests of different restarts
are never pooled.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from exonerate.core.stats.intervals import FloatArray

Use: TypeAlias = Literal["gate", "report", "none"]

HARRELL_DAVIS_SAMPLES_MAX = 3000
TAIL_MARGIN = 0.10
"""Non-inferiority margin of a tail quantile; its noise makes 2 % hopeless."""

# Requests per cell and restart from which ln(quantile) is steady enough inside one restart: an SD
# of about 7 % at most to be reported, 4 % to gate a change, on log-normal mixes with independent
# requests (the tests simulate it). Real requests depend on each other, so it is worse there.
_REPORT_FROM = {0.99: 3000, 0.95: 1000, 0.90: 500}
_GATE_FROM = {0.99: 10_000, 0.95: 3000, 0.90: 1500}


def quantile(samples: FloatArray, probability: float) -> float:
    """The quantile of raw samples, shape (requests,): Harrell-Davis to 3000, order statistic above.

    Harrell-Davis weighs the sorted samples by the Beta((n + 1) p, (n + 1)(1 - p)) probability of
    ((i - 1) / n, i / n] (Biometrika 1982); above, the ceil(n p)-th smallest.
    """
    n = samples.size
    if n == 0:
        return math.nan
    ordered = np.sort(samples)
    if n > HARRELL_DAVIS_SAMPLES_MAX:
        return float(ordered[max(0, math.ceil(n * probability) - 1)])
    edges = special.betainc(
        (n + 1) * probability, (n + 1) * (1 - probability), np.arange(n + 1) / n
    )
    return float(np.diff(edges) @ ordered)


def use_of_quantile(probability: float, requests: int) -> Use:
    """What `requests` per cell and restart allow: gate a change, be reported, or neither."""
    if requests >= _GATE_FROM.get(probability, math.inf):
        return "gate"
    return "report" if requests >= _REPORT_FROM.get(probability, math.inf) else "none"


def best_quantile(requests: int) -> float | None:
    """The farthest of p99, p95 and p90 that `requests` per cell and restart may report."""
    return next((p for p, least in _REPORT_FROM.items() if requests >= least), None)


def bound_samples_min(probability: float, *, level: float = 0.95) -> int:
    """The fewest samples of which the largest bounds the quantile from above at `level`.

    The smallest n with 1 - p**n >= level: 29, 59 and 299 for p90, p95 and p99.
    """
    return math.ceil(math.log(1 - level) / math.log(probability))
