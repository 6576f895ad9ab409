"""Intervals of shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from exonerate.core.stats.shares import share_interval


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_wilsons_interval(counted: tuple[int, int]) -> None:
    """As another implementation computes it."""
    hits, tries = counted
    wanted = binomtest(hits, tries).proportion_ci(0.95, method="wilson")
    assert share_interval(hits, tries) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_nothing_is_known_without_a_try() -> None:
    """From nothing to everything."""
    assert share_interval(0, 0) == (0.0, 1.0)
