"""What an experiment can show, against published figures, scipy and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as oracle

from exonerate.core.stats.power import (
    blocks_to_settle,
    power,
    smallest_visible_effect,
    verdict_odds,
    windows_per_restart,
)
from exonerate.core.stats.verdicts import NAMES, judge


@pytest.mark.parametrize(
    ("blocks", "percent"),
    [(3, (1.4, 2.3, 4.6, 9.2, 13.9)), (4, (0.90, 1.5, 3.0, 6.0, 9.0)),
     (5, (0.71, 1.2, 2.4, 4.8, 7.1)), (6, (0.61, 1.0, 2.0, 4.1, 6.1)),
     (8, (0.49, 0.82, 1.6, 3.3, 4.9))],
)  # fmt: skip
def test_the_smallest_visible_effect(blocks: int, percent: tuple[float, ...]) -> None:
    """The table of smallest effects (80 % power) by blocks and restart noise."""
    found = [
        100 * (smallest_visible_effect(blocks=blocks, noise=noise) or 0)
        for noise in (0.003, 0.005, 0.01, 0.02, 0.03)
    ]
    assert found == pytest.approx(percent, rel=0.03)


def test_two_blocks_see_only_sixteen_times_the_noise() -> None:
    """With two blocks at 1 % noise only an effect of 16 % is seen four times out of five."""
    effect = smallest_visible_effect(blocks=2, noise=0.01) or 0.0
    assert effect == pytest.approx(0.1633, abs=0.0005)
    d = np.random.default_rng(0).normal(effect, 0.01 * np.sqrt(2), (40_000, 2))
    assert (oracle.ttest_1samp(d, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("blocks", "effect"), [(3, 0.03), (5, 0.0), (5, 0.01), (8, -0.02)])
def test_power_is_that_of_the_noncentral_t(blocks: int, effect: float) -> None:
    """Power agrees with scipy's noncentral t, both tails."""
    shift = effect / (0.01 * np.sqrt(2 / blocks))
    critical = oracle.t.ppf(0.975, blocks - 1)
    law = oracle.nct(blocks - 1, shift) if shift else oracle.t(blocks - 1)
    expected = law.sf(critical) + law.cdf(-critical)
    assert power(effect, blocks=blocks, noise=0.01) == pytest.approx(expected, abs=1e-9)


def test_one_block_sees_nothing() -> None:
    """One block has no power and no smallest effect."""
    assert power(10.0, blocks=1, noise=0.01) == 0.0
    assert smallest_visible_effect(blocks=1, noise=0.01) is None


@pytest.mark.parametrize("effect", [0.0, 0.01, 0.02, 0.04])
@pytest.mark.parametrize("blocks", [2, 3, 5, 8])
def test_the_odds_are_those_of_the_rule(effect: float, blocks: int) -> None:
    """The odds that a plan prints are how often the real rule gives each verdict."""
    rng = np.random.default_rng(blocks)
    d = rng.normal(np.log1p(effect), 0.0086 * np.sqrt(2), (20_000, blocks, 1))
    told = judge(d, margin=0.02, family=6).verdict
    odds = verdict_odds(np.log1p(effect), blocks=blocks, noise=0.0086, margin=0.02, family=6)
    for code, name in enumerate(NAMES):
        assert getattr(odds, name) == pytest.approx((told == code).mean(), abs=0.012)


def test_a_larger_effect_needs_fewer_blocks() -> None:
    """Blocks to settle fall with the distance from the margin; at the margin none suffice."""
    needed = {
        effect: blocks_to_settle(np.log1p(effect), noise=0.01, margin=0.02)
        for effect in (0.0, 0.02, 0.04, 0.10)
    }
    assert needed[0.02] is None
    assert needed[0.10] is not None
    assert needed[0.04] is not None
    assert needed[0.10] < needed[0.04]
    assert blocks_to_settle(0.1, noise=0.01, margin=0.02, more_than=7) == 8


def test_slow_restarts_deserve_many_windows() -> None:
    """A restart of 400 s and windows of 4 s: ten windows when both noises are alike."""
    cost = {"restart_cost_s": 400.0, "window_cost_s": 4.0}
    assert windows_per_restart(**cost, restart_sd=0.01, window_sd=0.01) == 10
    assert windows_per_restart(**cost, restart_sd=0.1, window_sd=0.001) == 1
