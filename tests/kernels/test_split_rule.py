"""Where sequences are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.errors import ExonerateError
from exonerate.kernels.split_rule import SplitRule, ranges


@given(st.integers(0, 3000), st.integers(1, 200))
def test_the_ranges_cover_every_token_once(length: int, splits: int) -> None:
    """No token is left out or counted twice, and no range is empty, whatever the numbers are."""
    rule = SplitRule(num_splits=splits)
    count = rule.splits(base_ctas=1, tokens=max(length, 1))
    cut = ranges(length, rule.chunk(length, count))
    assert [token for start, stop in cut for token in range(start, stop)] == list(range(length))
    assert len(cut) <= count


@pytest.mark.parametrize(
    ("base", "rounding", "expected"),
    [(96, "ceil", 3), (128, "ceil", 2), (192, "ceil", 2), (192, "floor", 1), (160, "round", 2)],
)
def test_a_target_of_256_blocks_is_shared_out(base: int, rounding: str, expected: int) -> None:
    """The target divided by the blocks there are anyway, rounded as told."""
    rule = SplitRule(target_ctas=256, rounding=rounding)
    assert rule.splits(base_ctas=base, tokens=10_000) == expected


def test_a_split_size_leaves_the_cuts_in_their_place() -> None:
    """A longer sequence has the same first ranges as a shorter one."""
    rule = SplitRule(split_size=64)
    assert ranges(100, rule.chunk(100, rule.splits(base_ctas=8, tokens=100))) == [
        (0, 64),
        (64, 100),
    ]
    assert ranges(200, rule.chunk(200, rule.splits(base_ctas=1, tokens=200)))[0] == (0, 64)


@pytest.mark.parametrize("value", [0, -1])
def test_a_rule_below_one_is_refused(value: int) -> None:
    """A target of nothing is the operator's mistake and says what is allowed."""
    with pytest.raises(ExonerateError, match="`target_ctas` is"):
        SplitRule(target_ctas=value)


def test_an_enormous_number_of_splits_is_no_more_than_there_are_tokens() -> None:
    """Asking for a billion splits of 10 tokens makes 10."""
    assert SplitRule(num_splits=10**9).splits(base_ctas=1, tokens=10) == 10
    assert SplitRule(target_ctas=10**12).splits(base_ctas=4, tokens=10**6) == 65_535


def test_a_split_size_that_makes_too_many_splits_is_refused() -> None:
    """Leaving tokens out would be the alternative."""
    with pytest.raises(ExonerateError, match="are 100000 splits"):
        SplitRule(split_size=1).splits(base_ctas=1, tokens=100_000)


def test_two_rules_at_once_are_refused() -> None:
    """Only one rule can decide."""
    with pytest.raises(ExonerateError, match="2 split rules"):
        SplitRule(num_splits=2, split_size=64)
    with pytest.raises(ExonerateError, match="is no rounding"):
        SplitRule(num_splits=2, rounding="up")
