"""Tail quantiles against scipy, and when they may be shown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mstats

from exonerate.core.stats.quantiles import (
    best_quantile,
    bound_samples_min,
    quantile,
    use_of_quantile,
)


@pytest.mark.parametrize("samples", [1, 2, 17, 300, 3000])
def test_small_samples_use_harrell_davis(samples: int) -> None:
    """Up to 3000 samples the estimate is that of scipy's hdquantiles."""
    values = np.random.default_rng(samples).lognormal(0, 1, samples)
    for p in (0.5, 0.9, 0.99):
        expected = float(mstats.hdquantiles(values, [p])[0]) if samples > 1 else values[0]
        assert quantile(values, p) == pytest.approx(expected, rel=1e-9)


def test_large_samples_use_the_order_statistic() -> None:
    """Above 3000 the quantile is a value that was measured."""
    assert quantile(np.arange(10_000, 0, -1, dtype=float), 0.99) == 9900.0


def test_no_samples_have_no_quantile() -> None:
    """An empty cell gives NaN, not a number."""
    assert math.isnan(quantile(np.zeros(0), 0.9))


@pytest.mark.parametrize(
    ("p", "requests", "use"),
    [(0.99, 2999, "none"), (0.99, 3000, "report"), (0.99, 10_000, "gate"),
     (0.95, 999, "none"), (0.95, 1000, "report"), (0.9, 500, "report"), (0.999, 10**9, "none")],
)  # fmt: skip
def test_a_tail_needs_many_requests(p: float, requests: int, use: str) -> None:
    """p99 is reported from 3000 requests and gates from 10 000; other quantiles earlier."""
    assert use_of_quantile(p, requests) == use


def test_few_requests_fall_back_to_a_nearer_quantile() -> None:
    """With 1200 requests p95 is the farthest that may be shown; with 100 none is."""
    assert [best_quantile(n) for n in (5000, 1200, 600, 100)] == [0.99, 0.95, 0.9, None]


def test_a_bound_needs_a_least_number_of_samples() -> None:
    """Below 29, 59 and 299 samples p90, p95 and p99 have no upper bound at all."""
    assert [bound_samples_min(p) for p in (0.9, 0.95, 0.99)] == [29, 59, 299]


@pytest.mark.parametrize(("p", "requests"), [(0.99, 3000), (0.95, 1000), (0.9, 500)])
def test_a_reported_quantile_is_steady_within_a_restart(p: float, requests: int) -> None:
    """On a mix with a moderate tail, ln of a reported quantile has an SD of about 7 % at most."""
    draws = np.random.default_rng(0).lognormal(0, 0.9, (300, requests))
    assert np.std([math.log(quantile(row, p)) for row in draws]) < 0.08
