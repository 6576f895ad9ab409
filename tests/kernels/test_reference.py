"""The NumPy reference against the float64 oracle, and what its design buys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.errors import ExonerateError
from exonerate.kernels import oracle, reference
from exonerate.kernels.attention_input import AttentionInput
from exonerate.kernels.split_rule import SplitRule


def _input(lengths: list[int], *, heads: tuple[int, int] = (4, 2), seed: int = 0) -> AttentionInput:
    rng = np.random.default_rng(seed)
    shape = (len(lengths), max(lengths) + 2, heads[1], 16)
    return AttentionInput(
        q=rng.standard_normal((len(lengths), heads[0], 16)).astype(np.float32),
        k=rng.standard_normal(shape).astype(np.float32),
        v=rng.standard_normal(shape).astype(np.float32),
        lengths=np.array(lengths, np.int64),
    )


def _attend(one: AttentionInput, splits: int, **options: Any) -> tuple[Any, Any]:
    return reference.attend(one.q, one.k, one.v, one.lengths, splits, **options)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 90), min_size=1, max_size=4),
    st.integers(1, 120),
    st.integers(0, 2**32 - 1),
)
def test_it_agrees_with_float64_at_any_split_count(
    lengths: list[int], splits: int, seed: int
) -> None:
    """Whatever the lengths and cuts, out and log-sum-exp are right to float32's last digits."""
    one = _input(lengths, seed=seed)
    truth = oracle.attend(one)
    out, lse = _attend(one, splits)
    assert np.max(np.abs(out - truth.out)) < 2e-6
    assert np.array_equal(lse == -np.inf, truth.lse == -np.inf)
    finite = np.isfinite(truth.lse)
    assert np.allclose(lse[finite], truth.lse[finite], rtol=1e-6, atol=2e-6)


def test_a_large_offset_costs_nothing() -> None:
    """With (m, l) carried, scores of 1e8 in common leave the answer as exact as scores of 0."""
    one = _input([21], heads=(1, 1))
    one.q[...], one.k[...] = 0, 0
    one.q[..., 0], one.k[..., 0] = 2.0**13, 1e8 * 4 / 2.0**13
    truth = oracle.attend(one)
    assert truth.lse[0, 0] > 0.9e8
    errors = [np.max(np.abs(_attend(one, splits)[0] - truth.out)) for splits in (1, 2, 4)]
    assert max(errors) < 5e-7


def test_huge_values_of_no_weight_do_not_depend_on_the_cut() -> None:
    """Values near the largest float32, alone in a split and of weight 2**-200, do no harm."""
    one = _input([8], heads=(1, 1))
    one.q[...], one.k[...] = 0, 0
    one.q[..., 0] = 4.0
    one.k[0, 6:, :, 0] = -200 * np.log(2)
    one.v[0, 6:] = np.finfo(np.float32).max
    whole, _ = _attend(one, 1)
    assert np.all(np.isfinite(whole))
    assert np.allclose(_attend(one, 4)[0], whole, rtol=1e-6)


def test_a_nan_of_a_masked_token_is_passed_on_at_every_cut() -> None:
    """0 * NaN is NaN at one split; a split of masked scores must not hide it."""
    one = _input([8], heads=(1, 1))
    one.q[..., 0] = 1.0
    one.k[0, 4:, :, 0] = -np.inf
    one.v[0, 6, 0, 3] = np.nan
    for splits in (1, 2, 8):
        assert np.flatnonzero(np.isnan(_attend(one, splits)[0][0, 0])).tolist() == [3]


def test_pages_hold_the_same_sequence() -> None:
    """A page table over shuffled pages gives the bits of the contiguous cache."""
    one = _input([13, 5])
    order = np.array([[5, 0, 3, 1], [2, 4, 6, 7]])
    pools = []
    for kv in (one.k, one.v):
        padded = np.zeros((2, 16, 2, 16), np.float32)
        padded[:, : kv.shape[1]] = kv
        pool = np.full((9, 4, 2, 16), np.nan, np.float32)
        pool[order] = padded.reshape(2, 4, 4, 2, 16)
        pools.append(pool)
    paged, _ = reference.attend(one.q, pools[0], pools[1], one.lengths, 3, page_table=order)
    assert np.array_equal(paged, _attend(one, 3)[0])


def test_a_sink_takes_weight_and_gives_no_value() -> None:
    """A sink far below the scores changes nothing; one far above them takes everything."""
    one = _input([9])
    low = _attend(one, 3, sinks=np.full(4, -100, np.float32))[0]
    assert np.allclose(low, _attend(one, 3)[0], rtol=1e-6)
    assert np.max(np.abs(_attend(one, 3, sinks=np.full(4, 100, np.float32))[0])) < 1e-30


@pytest.mark.parametrize(("dtype", "most"), [("fp32", 1e-6), ("fp16", 1e-3), ("bf16", 1e-2)])
def test_the_partials_format_decides_the_error(dtype: str, most: float) -> None:
    """Partials in 16 bits cost their own rounding and not more."""
    one = _input([64, 37])
    error = np.max(np.abs(_attend(one, 4, partial_dtype=dtype)[0] - oracle.attend(one).out))
    assert most / 1e3 < error < most


def test_a_fixed_split_size_does_not_look_at_the_batch() -> None:
    """A row's bits are the same alone and beside a longer one; with a target they are not."""
    one = _input([40, 90, 7, 3])
    size, target = SplitRule(split_size=16), SplitRule(target_ctas=24)
    alone = _attend(one.rows([0]), 1, rule=size)[0][0]
    assert np.array_equal(alone, _attend(one, 1, rule=size)[0][0])
    alone = _attend(one.rows([0]), 1, rule=target)[0][0]
    assert not np.array_equal(alone, _attend(one, 1, rule=target)[0][0])


@pytest.mark.parametrize(
    ("q", "kv", "problem"),
    [
        ((1, 3, 8), (1, 4, 2, 8), "3 query heads of 8 do not fit 2 KV heads"),
        ((1, 4, 6), (1, 4, 2, 8), "do not fit 2 KV heads of 8"),
        ((2, 4, 8), (1, 4, 2, 8), "do not fit together"),
        ((4, 8), (1, 4, 2, 8), "q, k and v have 2, 4 and 4 axes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    q: tuple[int, ...], kv: tuple[int, ...], problem: str
) -> None:
    """Each misfit is named with the numbers that do not agree."""
    lengths = np.array([3])
    with pytest.raises(ExonerateError, match=problem):
        reference.attend(
            np.zeros(q, np.float32), np.zeros(kv, np.float32), np.zeros(kv, np.float32), lengths, 1
        )


def test_a_format_that_numpy_lacks_is_refused() -> None:
    """Integers are no scores."""
    one = _input([3])
    with pytest.raises(ExonerateError, match="q is int64"):
        reference.attend(one.q.astype(np.int64), one.k, one.v, one.lengths, 1)
