"""KV length distributions."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.lengths import TOKENS_MAX, parse_lengths
from exonerate.errors import ExonerateError


@pytest.mark.parametrize("text", ["8192", "fixed:8192"])
def test_a_plain_number_is_the_same_for_every_request(text: str) -> None:
    """Fixed lengths are the default."""
    assert parse_lengths(text).of_batch(3, 0) == (8192, 8192, 8192)


def test_a_uniform_batch_covers_its_range_evenly() -> None:
    """Quantiles, not luck: four requests in four quarters."""
    assert sorted(parse_lengths("uniform:0-800").of_batch(4, 0)) == [100, 300, 500, 700]


def test_a_lognormal_batch_has_its_median_and_a_long_tail() -> None:
    """The parameters are what their names say."""
    lengths = parse_lengths("lognormal:8000,1.0").of_batch(101, 0)
    assert statistics.median(lengths) == 8000
    assert max(lengths) > 8 * 8000


def test_a_list_is_taken_in_turn() -> None:
    """Five requests out of two lengths."""
    assert sorted(parse_lengths("list:10,20").of_batch(5, 0)) == [10, 10, 10, 20, 20]


@given(
    text=st.sampled_from(["uniform:1-9000", "lognormal:4096,0.8", "list:1,2,3,4"]),
    count=st.integers(1, 200),
    seed=st.integers(0, 99),
)
def test_a_batch_is_repeatable_and_the_seed_only_orders_it(
    text: str, count: int, seed: int
) -> None:
    """The same seed gives the same order; another seed the same lengths."""
    lengths = parse_lengths(text)
    assert lengths.of_batch(count, seed) == lengths.of_batch(count, seed)
    assert sorted(lengths.of_batch(count, seed)) == sorted(lengths.of_batch(count, seed + 1))
    assert all(0 <= tokens <= TOKENS_MAX for tokens in lengths.of_batch(count, seed))


@given(st.text(max_size=40))
def test_no_text_crashes_the_parser(text: str) -> None:
    """Whatever is typed, the answer is a distribution or a clear refusal."""
    try:
        lengths = parse_lengths(text)
    except ExonerateError:
        return
    assert len(lengths.of_batch(3, 0)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-5",
        "nan",
        "1e99",
        "uniform:9-3",
        "uniform:5",
        "lognormal:8192",
        "lognormal:8192,-1",
        "lognormal:8192,inf",
        "list:",
        "poisson:3",
        "list:0,0",
    ],
)
def test_lengths_that_make_no_sense_are_refused(text: str) -> None:
    """A batch without tokens or with impossible ones is not planned."""
    with pytest.raises(ExonerateError, match="cannot be used"):
        parse_lengths(text)
