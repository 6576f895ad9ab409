"""Intervals against scipy.stats, and what they refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from exonerate.core.stats.intervals import (
    paired_interval,
    sign_flip_p,
    spread,
    t_cdf,
    t_quantile,
    welch_interval,
)

DIFFERENCES = st.lists(
    st.integers(-1000, 1000).map(lambda k: k / 10_000), min_size=2, max_size=12
).filter(lambda values: len(set(values)) > 1)


@given(DIFFERENCES, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_paired_interval_is_students(values: list[float], level: float) -> None:
    """The interval of block differences is the one of scipy's one-sample t-test."""
    expected = oracle.ttest_1samp(values, 0).confidence_interval(level)
    assert paired_interval(np.array(values), level=level) == pytest.approx(
        (expected.low, expected.high), rel=1e-9, abs=1e-12
    )


@given(DIFFERENCES, DIFFERENCES)
def test_the_unpaired_interval_is_welchs(first: list[float], second: list[float]) -> None:
    """The interval of unpaired values is the one of scipy's Welch test."""
    expected = oracle.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    found = welch_interval(np.array(first), np.array(second))
    assert found == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-9)


def test_one_difference_has_no_interval() -> None:
    """One block says nothing of the noise, so there is no interval."""
    assert paired_interval(np.array([0.1])) is None
    assert welch_interval(np.array([0.1]), np.array([0.1, 0.2])) is None


def test_values_that_repeat_exactly_have_no_interval() -> None:
    """Equal ratios in every block would give an interval of no width; none is given."""
    d = np.log(np.array([110.0, 220.0, 330.0]) / np.array([100.0, 200.0, 300.0]))
    assert paired_interval(d) is None
    assert welch_interval(np.ones(3), np.ones(3)) is None


def test_missing_blocks_are_left_out_of_their_cell_only() -> None:
    """A missing block lowers the n of its own cell and of no other."""
    found = spread(np.array([[0.1, 0.2], [np.nan, 0.4], [0.3, 0.9]]))
    assert found.n.tolist() == [2, 3]
    assert found.mean == pytest.approx([0.2, 0.5])
    assert found.sd == pytest.approx([np.std([0.1, 0.3], ddof=1), np.std([0.2, 0.4, 0.9], ddof=1)])


def test_quantiles_and_probabilities_are_those_of_scipy() -> None:
    """Both directions of Student's distribution agree with scipy.stats."""
    for df, p in itertools.product((1, 2, 4, 7, 30), (0.6, 0.95, 0.9958)):
        assert float(t_quantile(p, df)) == pytest.approx(oracle.t.ppf(p, df), rel=1e-9)
        assert float(t_cdf(2.5, df)) == pytest.approx(oracle.t.cdf(2.5, df), rel=1e-9)


def test_the_sign_flip_test_speaks_from_six_blocks() -> None:
    """Six differences of one sign give the smallest p there is, 2 in 64; five give none."""
    assert sign_flip_p(np.linspace(0.01, 0.02, 5)) is None
    assert sign_flip_p(np.linspace(0.01, 0.02, 6)) == 2 / 64


# Whole numbers, whose sums are exact: scipy takes two equal sums of fractions for different ones.
@given(st.lists(st.integers(-99, 99).map(float), min_size=6, max_size=9))
def test_the_sign_flip_test_is_scipys(values: list[float]) -> None:
    """The exact p agrees with scipy's permutation test over all sign patterns."""
    expected = oracle.permutation_test(
        (np.array(values),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(np.array(values)) == pytest.approx(min(1.0, expected.pvalue), abs=1e-9)
