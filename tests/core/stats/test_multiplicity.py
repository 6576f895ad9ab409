"""Holm and Bonferroni."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.stats.multiplicity import bonferroni, holm


def test_holm_steps_down() -> None:
    """The textbook case: sorted p values times 4, 3, 2, 1, never falling."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_missing_test_costs_the_others_nothing() -> None:
    """NaN stays NaN and does not count in the family."""
    found = holm(np.array([0.02, np.nan, 0.03]))
    assert found[[0, 2]] == pytest.approx([0.04, 0.04])
    assert np.isnan(found[1])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_the_raw_p_and_bonferroni(values: list[float]) -> None:
    """Holm never claims more than no correction and never less than Bonferroni."""
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(p * len(p), 1) + 1e-15).all()


def test_bonferroni_shares_the_error() -> None:
    """Five cells get a fifth each; no cell at all is not a division by zero."""
    assert bonferroni(0.05, 5) == pytest.approx(0.01)
    assert bonferroni(0.05, 0) == 0.05
