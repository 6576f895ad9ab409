"""Numbers and untrusted text as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.report import phrases


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.1281, "+12.8 %"), (-0.006, "−0.6 %"), (0.0001, "0 %"), (-0.0001, "0 %"), (None, "?")],
)
def test_percent(fraction: float | None, text: str) -> None:
    """Gains carry a sign; what rounds to nothing is 0; what is unknown is not 0."""
    assert phrases.percent(fraction) == text


def test_interval_is_never_made_up() -> None:
    """A missing interval is called missing."""
    assert phrases.interval(None) == "no interval"
    assert phrases.interval([0.09, 0.16]) == "[+9.0, +16.0] %"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.48, "480 ms"), (21.4, "21.4 s"), (365, "6 min 05 s"), (None, "—")]
)
def test_duration(seconds: float | None, text: str) -> None:
    """Durations carry the unit that suits them."""
    assert phrases.duration(seconds) == text


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ("2025-12-02T18:19:30Z", "30 s"),
        ("2025-12-02T18:00:00+00:00", "20 min"),
        ("2025-12-01T18:20:00", "24 h"),
        ("2025-11-27T08:10:00Z", "5 days"),
        ("2026-01-01T00:00:00Z", "0 s"),
        ("yesterday", "unknown"),
        (None, "unknown"),
    ],
)
def test_age(earlier: str | None, text: str) -> None:
    """Ages are whole units; a stamp that is no time gives an unknown age."""
    assert phrases.age(earlier, "2025-12-02T18:20:00Z") == text


@given(st.text(max_size=60))
def test_visible_text_has_no_control_characters(text: str) -> None:
    """Whatever the text, one line without control characters is left."""
    clean = phrases.visible(text)
    assert clean.isprintable() or clean == ""


def test_long_text_is_cut_with_a_mark() -> None:
    """A text over the limit ends in an ellipsis."""
    assert phrases.visible("x" * 50, 10) == "x" * 9 + "…"


def test_names_keep_their_underscores_in_markdown() -> None:
    """An underscore inside a name needs no backslash; one at its edge does."""
    assert phrases.escaped_markdown("TARGET_CTAS _x_") == "TARGET_CTAS \\_x\\_"


def test_listed() -> None:
    """Lists read as in a sentence."""
    assert phrases.listed(["a", "b", "c"]) == "a, b and c"
