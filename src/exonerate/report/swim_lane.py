"""The decisive exchange drawn: rounds as bars, counters flat below, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from exonerate.report.lanes import WORDS, Lane, lanes_of, mood, moods_in, time_range
from exonerate.report.phrases import duration
from exonerate.report.svg import CHARACTER_WIDTH, Drawing, fitted_text, ticks
from exonerate.report.verdict_view import Span

LANE_HEIGHT = 30
NAME_HEIGHT = 14
BAR_HEIGHT = 18
LABEL_WIDTH_MAX = 230
NARROW = 520
SIZE = 12


def swim_lane(timeline: Sequence[Span], width: float = 900) -> Markup:
    """The timeline as a picture of that width; a narrow one puts labels above their lanes."""
    drawing = Drawing(width, "What happened in the decisive exchange, lane by lane", "swim")
    lanes = lanes_of(timeline)
    narrow = width < NARROW
    left = 4.0 if narrow else _label_width(lanes)
    top = _legend(drawing, timeline, left)
    scale = _Scale(*time_range(timeline), left, width - 8)
    heights = [_height(lane, narrow=narrow) for lane in lanes]
    bottom = top + sum(heights)
    _axis(drawing, scale, top, bottom)
    y = top
    for lane, height in zip(lanes, heights, strict=True):
        _lane(drawing, lane, scale, y=y, narrow=narrow)
        y += height
    return drawing.done(bottom + 26)


def _height(lane: Lane, *, narrow: bool) -> int:
    """A row's height: on a narrow picture a name stands above its lane."""
    return LANE_HEIGHT + (NAME_HEIGHT if narrow and lane.name else 0)


class _Scale:
    """From seconds to places."""

    def __init__(self, begin: float, end: float, left: float, right: float) -> None:
        self.begin, self.end, self.left, self.right = begin, end, left, right

    def x(self, seconds: float) -> float:
        """The place of that second."""
        share = (seconds - self.begin) / (self.end - self.begin)
        return self.left + share * (self.right - self.left)


def _label_width(lanes: Sequence[Lane]) -> float:
    longest = max(len(lane.name) for lane in lanes)
    return min(longest * SIZE * CHARACTER_WIDTH + 16, LABEL_WIDTH_MAX)


def _legend(drawing: Drawing, timeline: Sequence[Span], left: float) -> float:
    x, y = left, 14.0
    for name in moods_in(timeline):
        wide = 17 + len(WORDS[name]) * SIZE * CHARACTER_WIDTH
        if x > left and x + wide > drawing.width:
            x, y = left, y + 18
        drawing.rect(x, y - 10, 12, 12, f"bar-{name}")
        drawing.text(x + 17, y, WORDS[name], "faint")
        x += wide + 12
    return y + 16


def _axis(drawing: Drawing, scale: _Scale, top: float, bottom: float) -> None:
    count = 5 if scale.right - scale.left < NARROW else 8
    for seconds in ticks(0.0, scale.end - scale.begin, count):
        x = scale.x(scale.begin + seconds)
        drawing.line(x, top, x, bottom, "grid")
        label = "0 s" if seconds == 0 else duration(seconds)
        anchor = "end" if x > scale.right - 20 else "start" if x < scale.left + 4 else "middle"
        drawing.text(x, bottom + 17, label, "faint", anchor)


def _lane(drawing: Drawing, lane: Lane, scale: _Scale, *, y: float, narrow: bool) -> None:
    if narrow and lane.name:
        drawing.text(scale.left, y + 12, fitted_text(lane.name, scale.right - scale.left), "label")
        y += NAME_HEIGHT
    elif lane.name:
        drawing.text(
            scale.left - 10, y + 19, fitted_text(lane.name, scale.left - 10), "label", "end"
        )
    middle = y + LANE_HEIGHT / 2
    drawing.line(scale.left, middle, scale.right, middle, "rail")
    for span in lane.spans:
        _span(drawing, span, scale, middle)


def _span(drawing: Drawing, span: Span, scale: _Scale, middle: float) -> None:
    begin, end = scale.x(span.begin_s), scale.x(span.end_s)
    width = max(end - begin, 3)
    kind = mood(span.state)
    height = BAR_HEIGHT if kind != "idle" else 4
    seconds = duration(span.end_s - span.begin_s)
    tip = f"{span.lane}: {span.label} ({span.state}), {seconds}"
    drawing.rect(begin, middle - height / 2, width, height, f"bar-{kind}", tip)
    label = fitted_text(span.label, width - 8, 11)
    # A cut label says less than none: the whole one is in the tip.
    if label == span.label and label:
        lift = 4 if kind != "idle" else -5
        drawing.text(begin + 5, middle + lift, label, f"on-{kind}")
