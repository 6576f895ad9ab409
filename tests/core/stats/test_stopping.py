"""Plans of looks, and the e-process of unplanned blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as oracle

from exonerate.core.stats.stopping import (
    FIXED,
    LOOKS_AT_3_5_8,
    OPEN,
    e_critical_t,
    e_value,
    plan_for,
)


def test_the_e_value_is_a_bayes_factor() -> None:
    """The closed form equals the integral of noncentral t densities over effects N(0, g)."""
    t, n, g = 2.7, 6, 1.0

    def weighted(effect: float) -> float:
        density = oracle.nct.pdf(t, n - 1, effect * np.sqrt(n))
        return float(density * oracle.norm.pdf(effect, 0, np.sqrt(g)))

    top, _ = integrate.quad(weighted, -8, 8)
    expected = top / oracle.t.pdf(t, n - 1)
    assert float(e_value(np.array(t), np.array(n))) == pytest.approx(expected, rel=1e-6)


@given(st.integers(2, 40), st.sampled_from([0.05, 0.01, 0.2]))
def test_the_critical_t_is_where_the_e_value_arrives(n: int, alpha: float) -> None:
    """At the critical t the e-value is 1 / alpha; where that cannot be, it is infinite."""
    critical = e_critical_t(np.array(n), alpha=alpha)
    if np.isfinite(critical):
        assert float(e_value(critical, np.array(n))) == pytest.approx(1 / alpha)
    else:
        assert float(e_value(np.array(1e9), np.array(n))) < 1 / alpha


def test_more_blocks_than_planned_are_judged_by_the_e_process() -> None:
    """A sixth block after five planned ones switches the plan; without a plan nothing does."""
    assert plan_for(blocks=6, blocks_planned=5) is OPEN
    assert plan_for(blocks=5, blocks_planned=5) is FIXED
    assert plan_for(blocks=6, blocks_planned=None) is FIXED
    assert plan_for(blocks=5, blocks_planned=8, looks=True) is LOOKS_AT_3_5_8


def test_every_honesty_costs_something() -> None:
    """The critical t grows from one look to three to any number."""
    n = np.array(8)
    one, three, any_number = (plan.critical_t(n, 1) for plan in (FIXED, LOOKS_AT_3_5_8, OPEN))
    assert one < three < any_number
    assert float(one) == pytest.approx(oracle.t.ppf(0.975, 7))
    assert FIXED.flat_critical_t(n) < LOOKS_AT_3_5_8.flat_critical_t(n) < OPEN.flat_critical_t(n)
