"""The writer of inline pictures."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from exonerate.report.svg import Drawing, fitted_text, ticks


def test_texts_and_tips_are_escaped() -> None:
    """Markup in a text, a tip or a title stays text in valid XML."""
    drawing = Drawing(100, "<script>", "plain")
    drawing.text(1, 2, "<a & b>")
    drawing.rect(0, 0, 5, 5, "bar", '"><script>')
    picture = drawing.done(10)
    assert "<script" not in picture
    words = list(ElementTree.fromstring(picture).itertext())
    assert words == ["<script>", "<a & b>", '"><script>']


@given(st.floats(-1e9, 1e9), st.floats(0.001, 1e9))
def test_ticks_are_few_and_inside(low: float, stretch: float) -> None:
    """An axis has at most a handful of marks, all in its range."""
    found = list(ticks(low, low + stretch))
    assert len(found) <= 12
    assert all(low - stretch * 0.01 <= tick <= low + stretch * 1.01 for tick in found)


def test_text_that_does_not_fit_is_cut() -> None:
    """A text wider than its place ends in an ellipsis; one that fits is whole."""
    assert fitted_text("round 4", 200) == "round 4"
    assert fitted_text("a very long label", 60).endswith("…")


def test_a_turned_text_is_turned_around_its_beginning() -> None:
    """It is moved first and then turned, and escaped like any other."""
    drawing = Drawing(100, "t", "plain")
    drawing.turned_text(10, 20, "a < b", -60)
    picture = drawing.done(30)
    assert 'transform="translate(10 20) rotate(-60)"' in picture
    assert "a &lt; b" in picture
