"""Restarts in two regimes, and regimes that were never seen."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.stats.regimes import two_regimes, unseen_regime_rate_max


def test_two_regimes_are_seen() -> None:
    """Restarts 7 % apart in two groups are named, with the size of each group."""
    values = np.log([700.0, 703.0, 751.0, 699.0, 752.0, 749.0])
    found = two_regimes(values)
    assert found is not None
    assert found.gap == pytest.approx(np.log(749 / 703))
    assert (found.restarts_low, found.restarts_high) == (3, 3)


@pytest.mark.parametrize(
    "values",
    [[700, 703, 751], [700, 701, 702, 751], [700, 715, 730, 745, 760], [700, 705, 712, 716], []],
)
def test_one_outlier_or_a_wide_spread_is_not_two_regimes(values: list[float]) -> None:
    """Three restarts, one outlier, an even spread or a small gap raise no warning."""
    assert two_regimes(np.log(np.array(values, dtype=float))) is None


@pytest.mark.parametrize("restarts", [4, 5, 6, 8])
def test_normal_noise_rarely_looks_like_two_regimes(restarts: int) -> None:
    """Noise of 2 % is taken for two regimes in fewer than one experiment in twenty."""
    rows = np.random.default_rng(0).normal(0, 0.02, (2000, restarts))
    assert np.mean([two_regimes(row) is not None for row in rows]) < 0.05


def test_clean_restarts_only_bound_a_rate() -> None:
    """Five clean restarts leave room for a regime of 45 %, eight for one of 31 %."""
    assert unseen_regime_rate_max(5) == pytest.approx(0.45, abs=0.005)
    assert unseen_regime_rate_max(8) == pytest.approx(0.31, abs=0.005)
    assert unseen_regime_rate_max(0) == 1.0
