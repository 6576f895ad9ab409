"""Simulated proofs: the real decision functions, replayed over thousands of made-up experiments.

The noise comes from generators that know nothing of the estimators. A rate is allowed three
standard errors over its bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats as oracle

from exonerate.core.stats.anomalies import ANOMALY, SUSPECTED, removal_shown, scan
from exonerate.core.stats.design import schedule
from exonerate.core.stats.intervals import FloatArray
from exonerate.core.stats.stopping import FIXED, LOOKS, LOOKS_AT_3_5_8, OPEN, Plan
from exonerate.core.stats.verdicts import BETTER, FLAT, UNDECIDED, WORSE, judge

TRIALS = 6000
CELLS = 6
RESTART_SD, CELL_SD = 0.007, 0.005
NO_MARGIN = 1e-6
"""A margin that lets every significant difference through and hardly anything be flat."""

Generator = np.random.Generator


def allowed(rate: float, trials: int = TRIALS) -> float:
    """The rate plus three standard errors."""
    return float(rate + 3 * np.sqrt(rate * (1 - rate) / trials))


@lru_cache(maxsize=16)
def second_place(blocks: int) -> FloatArray:
    """1 where the candidate ran second, from the real schedule of as many seeds; (trials, n)."""
    rows = [
        [float(block.arms[1] == "B") for block in schedule(
            seed=seed, blocks=blocks, arms=("A", "B"), cells=(1,)
        )]
        for seed in range(TRIALS)
    ]  # fmt: skip
    return np.array(rows)


def restarts(rng: Generator, blocks: int) -> FloatArray:
    """Independent normal noise of restarts and cells, (trials, blocks, 2 arms, cells)."""
    restart = rng.normal(0, RESTART_SD, (TRIALS, blocks, 2, 1))
    return np.asarray(restart + rng.normal(0, CELL_SD, (TRIALS, blocks, 2, CELLS)))


def place(blocks: int) -> FloatArray:
    """0 for the first restart of a block and 1 for the second, (trials, blocks, 2 arms, 1)."""
    second = second_place(blocks)
    return np.stack([1 - second, second], axis=2)[..., None]


def iid(rng: Generator, blocks: int) -> FloatArray:
    """Nothing but noise."""
    return restarts(rng, blocks)


def drift(rng: Generator, blocks: int) -> FloatArray:
    """The machine loses 4 % over the session."""
    at = (2 * np.arange(blocks)[None, :, None, None] + place(blocks)) / (2 * blocks - 1)
    return restarts(rng, blocks) - 0.04 * at


def position_penalty(rng: Generator, blocks: int) -> FloatArray:
    """Whoever runs second in a block is 3 % slower."""
    return restarts(rng, blocks) - 0.03 * place(blocks)


def heavy_tails(rng: Generator, blocks: int) -> FloatArray:
    """Restarts follow Student's t with 3 degrees of freedom."""
    restart = rng.standard_t(3, (TRIALS, blocks, 2, 1)) * RESTART_SD / np.sqrt(3)
    return np.asarray(restart + rng.normal(0, CELL_SD, (TRIALS, blocks, 2, CELLS)))


def bimodal(rng: Generator, blocks: int) -> FloatArray:
    """Half of all restarts come up 7 % slower, whichever the arm."""
    return restarts(rng, blocks) - 0.07 * (rng.random((TRIALS, blocks, 2, 1)) < 0.5)


def ar1_windows(rng: Generator, blocks: int) -> FloatArray:
    """A cell's value is the mean of ten windows that depend on each other (AR(1), 0.7)."""
    windows = np.empty((10, TRIALS, blocks, 2, CELLS))
    windows[0] = rng.normal(0, 0.01, windows.shape[1:])
    for at in range(1, 10):
        fresh = rng.normal(0, 0.01 * np.sqrt(1 - 0.7**2), windows.shape[1:])
        windows[at] = 0.7 * windows[at - 1] + fresh
    return np.asarray(rng.normal(0, RESTART_SD, (TRIALS, blocks, 2, 1)) + windows.mean(axis=0))


def differences(values: FloatArray) -> FloatArray:
    """Candidate minus baseline, (trials, blocks, cells)."""
    return np.asarray(values[:, :, 1] - values[:, :, 0])


WORLDS: list[Callable[[Generator, int], FloatArray]] = [
    iid, drift, position_penalty, heavy_tails, bimodal, ar1_windows
]  # fmt: skip


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
@pytest.mark.parametrize("blocks", [3, 5, 8])
@pytest.mark.parametrize("margin", [NO_MARGIN, 0.02])
def test_equal_arms_are_rarely_told_apart(
    world: Callable[[Generator, int], FloatArray], blocks: int, margin: float
) -> None:
    """With equal arms, at most 5 % of experiments call any of six cells better or worse."""
    d = differences(world(np.random.default_rng(blocks), blocks))
    told = np.isin(judge(d, margin=margin).verdict, (BETTER, WORSE)).any(axis=1).mean()
    primary = judge(d.mean(axis=2, keepdims=True), margin=margin, family=1).verdict
    assert told <= allowed(0.05)
    assert np.isin(primary, (BETTER, WORSE)).mean() <= allowed(0.05)


def test_windows_taken_for_restarts_deceive() -> None:
    """The same kind of data, analysed with windows as the unit, errs in over 40 % of cases."""
    rng = np.random.default_rng(1)
    shape = (TRIALS, 5, 10, 2)
    values = rng.normal(0, 0.02, (TRIALS, 5, 1, 2)) + rng.normal(0, 0.01, shape)
    pooled = values.reshape(TRIALS, 50, 2)
    naive = oracle.ttest_ind(pooled[..., 0], pooled[..., 1], axis=1).pvalue < 0.05
    by_restart = judge(differences(values.mean(axis=2)[..., None]), margin=NO_MARGIN, family=1)
    assert naive.mean() > 0.4
    assert (by_restart.verdict != UNDECIDED).mean() <= allowed(0.05)


def test_running_one_arm_after_the_other_deceives_the_more_the_longer_it_runs() -> None:
    """All of A and then all of B under a 4 % drift: false differences grow with the data."""
    rates = []
    for blocks in (3, 5, 8):
        rng = np.random.default_rng(blocks)
        values = rng.normal(0, 0.01, (TRIALS, 2 * blocks)) + np.linspace(0, 0.04, 2 * blocks)
        a, b = values[:, :blocks], values[:, blocks:]
        rates.append((oracle.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05).mean())
    assert 0.25 < rates[0] < rates[1] < rates[2]
    assert rates[2] > 0.9


def test_three_percent_on_the_primary_band_is_found_by_five_blocks() -> None:
    """A true +3 % on a band of three cells is called better in at least 95 % of experiments."""
    rng = np.random.default_rng(2)
    d = differences(restarts(rng, 5))[:, :, :3].mean(axis=2, keepdims=True) + np.log(1.03)
    assert (judge(d, margin=0.02, family=1).verdict == BETTER).mean() >= 0.95


@pytest.mark.parametrize(
    ("blocks", "flat", "better_at_3", "better_at_5"),
    [(2, 0, 0, 0), (3, 0.39, 0.14, 0.35), (4, 0.65, 0.40, 0.84), (5, 0.83, 0.69, 0.99),
     (6, 0.92, 0.88, 1.0), (8, 0.99, 0.99, 1.0)],
)  # fmt: skip
def test_share_of_cells_that_reach_a_verdict(
    blocks: int, flat: float, better_at_3: float, better_at_5: float
) -> None:
    """Six cells, margin 2 %: how often a flat, a +3 % and a +5 % cell are told, by blocks."""
    d = differences(restarts(np.random.default_rng(3), blocks))
    found = [
        (judge(d + np.log1p(effect), margin=0.02).verdict == code).mean()
        for effect, code in ((0.0, FLAT), (0.03, BETTER), (0.05, BETTER))
    ]
    assert found == pytest.approx([flat, better_at_3, better_at_5], abs=0.035)


@pytest.mark.parametrize("blocks", [3, 5, 8])
@pytest.mark.parametrize("world", [iid, drift, position_penalty, heavy_tails, bimodal])
def test_a_difference_of_the_margin_is_rarely_called_flat(
    world: Callable[[Generator, int], FloatArray], blocks: int
) -> None:
    """An effect of exactly the margin passes for flat in at most 5 % of cells."""
    d = differences(world(np.random.default_rng(4), blocks)) + np.log1p(0.02)
    assert (judge(d, margin=0.02).verdict == FLAT).mean() <= allowed(0.05)


def told_at_any_look(d: FloatArray, plan: Plan, codes: tuple[int, ...], margin: float) -> float:
    """The share of experiments that reach one of the verdicts at a look after 3, 5 or 8."""
    looks = [judge(d[:, :n], margin=margin, plan=plan, family=1).verdict for n in LOOKS]
    return float(np.isin(np.concatenate(looks, axis=1), codes).any(axis=1).mean())


def test_planned_looks_keep_their_promise() -> None:
    """Looks after 3, 5 and 8 blocks err in 5 % with their own level and in 11 % without it."""
    d = np.random.default_rng(5).normal(0, 0.01, (20_000, 8, 1))
    told = (BETTER, WORSE)
    assert told_at_any_look(d, LOOKS_AT_3_5_8, told, NO_MARGIN) <= allowed(0.05, 20_000)
    assert told_at_any_look(d, FIXED, told, NO_MARGIN) > 0.10


def test_planned_looks_keep_flat_honest_too() -> None:
    """At the margin, looks call flat in 5 % with their own level and in 10 % without it."""
    d = np.random.default_rng(6).normal(np.log1p(0.02), 0.002, (20_000, 8, 1))
    assert told_at_any_look(d, LOOKS_AT_3_5_8, (FLAT,), 0.02) <= allowed(0.05, 20_000)
    assert told_at_any_look(d, FIXED, (FLAT,), 0.02) > 0.09


def test_unplanned_blocks_stay_honest_under_the_e_process() -> None:
    """A look after every block from 3 to 12 errs in at most 5 % (with the t-test: over 15 %)."""
    d = np.random.default_rng(7).normal(0, 0.01, (TRIALS, 12, 1))

    def ever(plan: Plan, shift: float) -> float:
        looks = [
            judge(d[:, :n] + shift, margin=NO_MARGIN, plan=plan, family=1).verdict
            for n in range(3, 13)
        ]
        return float(np.isin(np.concatenate(looks, axis=1), (BETTER, WORSE)).any(axis=1).mean())

    assert ever(OPEN, 0.0) <= 0.05
    assert ever(FIXED, 0.0) > 0.15
    # An effect of 1.5 SD of a block difference is still found nine times out of ten.
    assert ever(OPEN, 0.015) > 0.85


LADDER = np.log([700.0, 760.0, 830.0, 845.0])  # C64, C80, C96, C112


def ladder(rng: Generator, blocks: int, dip: float) -> FloatArray:
    """Restarts of two arms over four cells; only the first arm dips from C80 to C96.

    Shape (trials, 2 arms, blocks, cells).
    """
    level = np.stack([LADDER, LADDER])
    level[0, 2] = level[0, 1] + np.log1p(-dip)
    level[0, 3] = level[0, 2] + 0.05
    restart = rng.normal(0, 0.01, (TRIALS, 2, blocks, 1))
    return np.asarray(level[:, None, :] + restart + rng.normal(0, 0.005, (TRIALS, 2, blocks, 4)))


def test_a_two_percent_dip_is_found_by_three_restarts() -> None:
    """A true dip of 2 % at C96 is at least suspected in 85 % of experiments with 3 restarts."""
    codes = scan(ladder(np.random.default_rng(8), 3, 0.02))
    assert (codes[:, 0, 1] >= SUSPECTED).mean() >= 0.85


def test_a_dip_as_in_the_founding_case_is_an_anomaly() -> None:
    """A true dip of 4 % is proven to be over 2 % by five restarts, and the cure is seen."""
    values = ladder(np.random.default_rng(9), 5, 0.041)
    codes = scan(values)
    contrasts = np.diff(values, axis=-1)[:200, :, :, 1]
    assert (codes[:, 0, 1] == ANOMALY).mean() >= 0.85
    assert np.mean([removal_shown(own, other) for own, other in contrasts]) >= 0.95


@pytest.mark.parametrize("blocks", [3, 5, 8])
def test_a_monotone_curve_is_rarely_flagged(blocks: int) -> None:
    """A saturated curve (equal throughput from C64 on) is flagged in at most 5 % per ladder."""
    rng = np.random.default_rng(10)
    restart = rng.normal(0, 0.01, (TRIALS, 2, blocks, 1))
    codes = scan(np.asarray(restart + rng.normal(0, 0.005, (TRIALS, 2, blocks, 4))))
    flagged = (codes >= SUSPECTED).any(axis=2).mean(axis=0)
    assert (flagged <= allowed(0.05)).all()
    assert (codes == ANOMALY).mean() <= 0.001


def test_a_dip_of_the_margin_itself_is_rarely_called_more() -> None:
    """A true dip of exactly 2 % is called an anomaly (more than 2 %) in at most 5 %."""
    codes = scan(ladder(np.random.default_rng(11), 3, 0.02))
    assert (codes[:, 0, :] == ANOMALY).any(axis=1).mean() <= allowed(0.05)
