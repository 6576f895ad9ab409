"""Numbers as people print them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.core.documents.model import DecimalMark, Stated, Value
from exonerate.core.documents.numbers import (
    Ambiguous,
    bracket_gain,
    decimal_mark,
    parse_gain,
    parse_value,
)


@pytest.mark.parametrize(
    ("text", "number", "spread", "runs"),
    [
        ("719.5", 719.5, None, None),
        ("**719.5**", 719.5, None, None),
        ("~719.5 tok/s", 719.5, None, None),
        ("719.5 ± 3.2", 719.5, 3.2, None),
        ("719.5 (±3.2)", 719.5, 3.2, None),
        ("719.5 +/- 1%", 719.5, 7.195, None),
        ("719.5 ± 3.2 (n=3)", 719.5, 3.2, 3),
        ("719.5 (n = 3)", 719.5, None, 3),
        ("12.3k", 12300.0, None, None),
        ("1 719.5", 1719.5, None, None),
        ("811.7 (+12.8%)", 811.7, None, None),
        ("1.2e3", 1200.0, None, None),
    ],
)
def test_values_with_their_company(
    text: str, number: float, spread: float | None, runs: int | None
) -> None:
    """A value is read with its unit, spread, runs and marks of emphasis."""
    value = parse_value(text, "point")
    assert isinstance(value, Value)
    assert value.number == pytest.approx(number)
    assert value.spread == (None if spread is None else pytest.approx(spread))
    assert value.runs == runs


@pytest.mark.parametrize("text", ["", "—", "OOM", "n/a", "256 GB of it", "v1", "nan", "1e999"])
def test_no_number_is_none(text: str) -> None:
    """Gaps and words are no values, and neither is an infinite one."""
    assert parse_value(text, "point") is None


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["719.5", "1,684"], "point"),
        (["1,684.5"], "point"),
        (["1.684,5"], "comma"),
        (["719,5"], None),
        (["1,684"], None),
        (["719.5", "1.684,5"], None),
        (["48", "64"], None),
    ],
)
def test_decimal_mark_is_proved_or_unknown(cells: list[str], mark: DecimalMark | None) -> None:
    """A table proves its decimal mark by a number that can be read in one way only."""
    assert decimal_mark(cells) == mark


def test_commas_are_not_guessed() -> None:
    """A comma that could be a decimal comma or a separator gives no number until told."""
    assert parse_value("1,684", None) == Ambiguous("1,684")
    assert parse_value("719,5", None) == Ambiguous("719,5")
    told = parse_value("719,5", "comma")
    assert isinstance(told, Value)
    assert told.number == 719.5
    assert told.half_step == pytest.approx(0.05)


def test_half_a_printed_step() -> None:
    """The rounding of a printed number follows its last digit."""
    for text, step in (("719.5", 0.05), ("720", 0.5), ("12.3k", 50.0)):
        value = parse_value(text, "point")
        assert isinstance(value, Value)
        assert value.half_step == pytest.approx(step)


@pytest.mark.parametrize(
    ("text", "gain"),
    [("+12.8%", 0.128), ("−3 %", -0.03), ("1.13x", 0.13), ("×1.13", 0.13), ("~flat", None)],
)
def test_stated_gains(text: str, gain: float | None) -> None:
    """Percent and ratios become fractions; words stay words."""
    stated = parse_gain(text, "point")
    assert isinstance(stated, Stated)
    assert stated.gain == (None if gain is None else pytest.approx(gain))


def test_gain_in_brackets() -> None:
    """A gain in brackets behind a value is a stated gain."""
    stated = bracket_gain("811.7 (+12.8%)", "point")
    assert stated is not None
    assert stated.gain == pytest.approx(0.128)


def test_bare_difference_is_absolute() -> None:
    """A gain without a mark is a difference in the values' own unit."""
    stated = parse_gain("+92.2", "point")
    assert stated is not None
    assert stated.absolute


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["point", "comma", None]))
def test_any_text_is_a_number_or_not(text: str, mark: DecimalMark | None) -> None:
    """No cell crashes the number reader, and no number is infinite."""
    value = parse_value(text, mark)
    if isinstance(value, Value):
        assert abs(value.number) < 1e19
    parse_gain(text, mark)
    bracket_gain(text, mark)
