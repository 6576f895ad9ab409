"""Throughput per load as a document states it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.report.experiments import TableView
from exonerate.report.story import Story
from exonerate.report.throughput_plot import throughput_plot

NAME = "{http://www.w3.org/2000/svg}"
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


def table_of(story: Story) -> TableView:
    """The table of the founding document."""
    return story.documents[0].tables[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_stay_inside_the_picture(story: Story, width: float) -> None:
    """On a desk and on a phone nothing is drawn outside the picture."""
    picture = throughput_plot(table_of(story), width)
    assert all(0 <= place <= width for place in places(picture))


def test_the_suspected_dip_is_marked(story: Story) -> None:
    """The dip of the founding table is drawn over its line with its size and its standing."""
    picture = throughput_plot(table_of(story))
    assert "−4.0 % suspected" in picture
    marks = [e for e in parsed(picture).iter(f"{NAME}path") if e.attrib["class"] == "dip"]
    assert len(marks) == 1
    plain = throughput_plot(replace(table_of(story), dips=()))
    assert "suspected" not in plain


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6))
def test_any_values_can_be_drawn(values: list[tuple[float, float]]) -> None:
    """Whatever the loads and values, the plot is valid XML."""
    table = TableView(1, "m", ("a", "b"), "", "concurrency", (), (), (), "D", (), "")
    points = tuple((load, (value, None)) for load, value in values)
    parsed(throughput_plot(replace(table, values=points)))
