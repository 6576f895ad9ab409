"""Ways into JSON that nobody vouches for."""

from __future__ import annotations

import pytest

from exonerate.core.json_access import at, count_at, number_at, parse_json, text_at
from exonerate.core.json_types import Json

VALUE: Json = {"a": [{"b": 1.5, "c": True, "d": "x"}], "n": -3, "big": 10**40}


def test_paths_lead_in_or_to_none() -> None:
    """A path that exists gives its value, any other gives None."""
    assert at(VALUE, "a", 0, "b") == 1.5
    for path in (("a", 1), ("a", "b"), ("x", 0), ("n", "b")):
        assert at(VALUE, *path) is None


def test_numbers_are_finite_numbers() -> None:
    """True, texts and numbers beyond any measure are no numbers."""
    assert number_at(VALUE, "a", 0, "b") == 1.5
    for path in (("a", 0, "c"), ("a", 0, "d"), ("big",)):
        assert number_at(VALUE, *path) is None
    assert count_at(VALUE, "n") is None
    assert text_at(VALUE, "n") == "-3"


@pytest.mark.parametrize("text", ["", "{", "[" * 50_000, "nope"])
def test_what_is_no_json_is_none(text: str) -> None:
    """Broken and endlessly nested JSON is None, not a crash."""
    assert parse_json(text) is None
