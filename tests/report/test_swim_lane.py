"""The decisive exchange drawn."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from exonerate.report.story import Story
from exonerate.report.swim_lane import swim_lane
from exonerate.report.verdict_view import Span

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


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_stay_inside_the_picture(story: Story, width: float) -> None:
    """On a desk and on a phone nothing is drawn outside the picture."""
    assert story.verdict is not None
    picture = swim_lane(story.verdict.timeline, width)
    assert all(0 <= place <= width for place in places(picture))


def test_hung_rounds_are_wider_than_answered_ones() -> None:
    """A bar's width is its time."""
    spans = [Span("a", "x", 0.0, 1.0, "ok"), Span("a", "y", 1.0, 9.0, "hung")]
    bars = [e for e in parsed(swim_lane(spans)).iter(f"{NAME}rect") if len(e)]
    good, bad = (float(bar.attrib["width"]) for bar in bars)
    assert bad == pytest.approx(8 * good, rel=0.01)
