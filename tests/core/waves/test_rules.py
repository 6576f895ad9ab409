"""`target_ctas`, fixed counts and sizes, and rules by name."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.explanations import RULES
from exonerate.core.waves.partition import Batch, Launch
from exonerate.core.waves.rules import (
    TARGET_RULES,
    fixed_count,
    fixed_size,
    round_half_up,
    rule_named,
)
from exonerate.errors import ExonerateError

NO_CAP = 1 << 20


@pytest.mark.parametrize(
    ("rounding", "splits"),
    [
        ("ceil", (3, 2, 2, 2)),  # 256 / 96, 128, 160, 192 = 2.67, 2, 1.6, 1.33
        ("floor", (2, 2, 1, 1)),
        ("round", (3, 2, 2, 1)),
    ],
)
def test_the_target_is_divided_by_the_launch_and_rounded(
    rounding: str, splits: tuple[int, ...]
) -> None:
    """Two units per request at concurrency 48, 64, 80 and 96, worked by hand."""
    rule = rule_named(f"target_ctas:{rounding}", RULES)
    found = tuple(
        rule.cut(Batch((8192,) * c, 2, 1), Launch(256, 188, NO_CAP)).splits[0]
        for c in (48, 64, 80, 96)
    )
    assert found == splits


def test_a_target_below_the_launch_leaves_requests_unsplit() -> None:
    """Rounding down to 0 would mean no attention at all."""
    for rule in TARGET_RULES:
        assert rule.cut(Batch((8192,) * 9, 1, 1), Launch(1, 188, NO_CAP)).splits == (1,) * 9


def test_the_cap_holds() -> None:
    """An enormous target is held down by the cap on splits."""
    partition = TARGET_RULES[0].cut(Batch((8192,), 1, 1), Launch(NO_CAP, 188, 16))
    assert partition.splits == (16,)


@given(target=st.integers(1, 4096), batch=st.integers(1, 200), units=st.sampled_from([1, 2, 4, 8]))
def test_floor_round_and_ceil_stand_in_that_order(target: int, batch: int, units: int) -> None:
    """And the floor never exceeds the target unless nothing is split."""
    ceil, floor, near = (
        rule.cut(Batch((1 << 16,) * batch, units, 1), Launch(target, 188, NO_CAP))
        for rule in TARGET_RULES
    )
    assert floor.splits[0] <= near.splits[0] <= ceil.splits[0]
    assert floor.ctas <= max(target, batch * units)


def test_halves_are_rounded_up() -> None:
    """Not to even, as Python's own rounding does."""
    assert [round_half_up(Fraction(n, 2)) for n in (1, 3, 4, 5)] == [1, 2, 2, 3]


def test_a_fixed_size_cuts_each_request_by_its_own_length() -> None:
    """Neighbours do not matter, which is what batch invariance asks for."""
    rule = fixed_size(1000)
    alone = rule.cut(Batch((2500,), 1, 1), Launch(256, 188, NO_CAP)).splits
    crowd = rule.cut(Batch((2500, 90_000, 0), 1, 1), Launch(7, 4, NO_CAP)).splits
    assert (alone, crowd) == ((3,), (3, 90, 1))


def test_a_fixed_count_is_that_count() -> None:
    """Whatever the target."""
    assert fixed_count(5).cut(Batch((8192,) * 2, 1, 1), Launch(1, 1, NO_CAP)).splits == (5, 5)


def test_parametric_rules_are_found_by_name() -> None:
    """`num_splits:N` and `split_size:N`."""
    assert rule_named("num_splits:4", RULES).name == "num_splits:4"
    assert rule_named("split_size:256", RULES).name == "split_size:256"


@pytest.mark.parametrize("name", ["num_splits:", "num_splits:0", "split_size:-3", "num_splits:x"])
def test_a_parametric_rule_needs_its_number(name: str) -> None:
    """A count of zero splits is no rule."""
    with pytest.raises(ExonerateError, match="whole number"):
        rule_named(name, RULES)


def test_an_unknown_rule_is_refused_with_the_nearest() -> None:
    """A typing mistake is answered with what was probably meant."""
    with pytest.raises(ExonerateError) as near:
        rule_named("flash_mla", RULES)
    assert "`flashmla`" in near.value.hint
    with pytest.raises(ExonerateError) as far:
        rule_named("zzz", RULES)
    assert "`split_size:N`" in far.value.hint
