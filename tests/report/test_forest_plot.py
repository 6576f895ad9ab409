"""Effects with their intervals."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.report.experiments import CellView
from exonerate.report.forest_plot import forest_plot
from exonerate.report.story import Story

PLACES = ("x", "x1", "x2", "cx")
WIDTHS = [340.0, 900.0]


def parsed(picture: str) -> ElementTree.Element:
    """The picture as XML."""
    return ElementTree.fromstring(picture)


def places(picture: str) -> list[float]:
    """Every horizontal place in the picture."""
    found = []
    for element in parsed(picture).iter():
        found += [float(value) for key, value in element.attrib.items() if key in PLACES]
        if "width" in element.attrib:
            found.append(float(element.attrib["x"]) + float(element.attrib["width"]))
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_effects_stay_inside_the_picture(story: Story, width: float) -> None:
    """On a desk and on a phone nothing is drawn outside the picture."""
    picture = forest_plot(story.comparisons[0].cells, kind="C", width=width)
    assert all(0 <= place <= width for place in places(picture))


def test_an_effect_without_interval_has_no_whisker() -> None:
    """A point without an interval is drawn as a point and said to have none."""
    cell = CellView("64", 64.0, 1.0, 1.1, 0.1, None, "undecided", "")
    picture = forest_plot([cell], kind="C")
    assert "no interval" in picture
    assert "whisker" not in picture


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=6))
def test_any_effects_can_be_drawn(effects: list[tuple[float, float, float]]) -> None:
    """Whatever the numbers, the plot is valid XML."""
    cells = [
        CellView("1", 1.0, None, None, effect, (low, high), "better", "")
        for effect, low, high in effects
    ]
    parsed(forest_plot(cells, kind="C"))
