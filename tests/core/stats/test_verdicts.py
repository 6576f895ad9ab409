"""The verdict rule at its edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.stats.intervals import FloatArray
from exonerate.core.stats.verdicts import BETTER, FLAT, NAMES, UNDECIDED, WORSE, judge

STEADY = np.array([0.001, -0.001, 0.0005, -0.0004, 0.0002])


def verdict(differences: FloatArray, *, higher_is_better: bool = True) -> int:
    """The verdict of one cell at a margin of 2 %."""
    found = judge(differences[:, None], margin=0.02, higher_is_better=higher_is_better)
    return int(found.verdict[0])


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(0.0, FLAT), (0.005, FLAT), (0.12, BETTER), (-0.12, WORSE), (0.0195, UNDECIDED)],
)
def test_quiet_blocks_get_a_verdict(shift: float, expected: int) -> None:
    """Five quiet blocks are flat, better or worse; just under the margin they are undecided."""
    assert verdict(STEADY + shift) == expected


def test_a_lower_latency_is_better() -> None:
    """With lower-is-better a fall is better and a rise is worse; flat stays flat."""
    assert verdict(STEADY - 0.12, higher_is_better=False) == BETTER
    assert verdict(STEADY + 0.12, higher_is_better=False) == WORSE
    assert verdict(STEADY, higher_is_better=False) == FLAT


@pytest.mark.parametrize("blocks", [1, 2])
def test_below_three_blocks_there_is_no_verdict(blocks: int) -> None:
    """However large the difference and however quiet the blocks, two are too few."""
    assert verdict(STEADY[:blocks] + 0.5) == UNDECIDED
    assert verdict(STEADY[:blocks]) == UNDECIDED


def test_two_identical_values_are_not_flat() -> None:
    """Differences that repeat exactly are copies, not proof of sameness."""
    for blocks in (2, 3, 5):
        found = judge(np.zeros((blocks, 1)), margin=0.02)
        assert NAMES[int(found.verdict[0])] == "undecided"
        assert np.isnan(found.lo).all()


def test_noise_is_not_sameness() -> None:
    """A wide interval around zero is undecided, never flat."""
    assert verdict(np.array([0.05, -0.06, 0.04, -0.03, 0.01])) == UNDECIDED


def test_more_cells_widen_every_interval() -> None:
    """The interval of one of six cells is wider than the same cell's alone."""
    one = judge(STEADY[:, None], margin=0.02)
    six = judge(np.repeat(STEADY[:, None], 6, axis=1), margin=0.02)
    assert six.hi[0] > one.hi[0]
    assert six.flat_hi[0] == one.flat_hi[0]


@given(st.lists(st.integers(-800, 800).map(lambda k: k / 10_000), min_size=1, max_size=9))
def test_exchanging_the_arms_exchanges_better_and_worse(values: list[float]) -> None:
    """The verdict of B against A is the mirror of the verdict of A against B."""
    mirror = {BETTER: WORSE, WORSE: BETTER, FLAT: FLAT, UNDECIDED: UNDECIDED}
    d = np.array(values)
    assert verdict(-d) == mirror[verdict(d)]
