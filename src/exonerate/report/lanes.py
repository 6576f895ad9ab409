"""The timeline of the decisive exchange as lanes: shared by the text and the drawn swim lane.

A lane is one thing over time: a probe session with its rounds, a counter of the engine, the
bytes of a socket. The states of spans come from the observer's vocabulary; each belongs to one
mood, which gives its colour and its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.report.phrases import duration
from exonerate.report.verdict_view import Span

Mood: TypeAlias = Literal["good", "late", "bad", "busy", "idle"]

_MOODS: dict[Mood, frozenset[str]] = {
    "good": frozenset(
        {"ok", "answered", "complete", "completed", "done", "good", "healthy", "fast"}
    ),
    "bad": frozenset(
        {
            *("hung", "hang", "waiting", "stalled", "timeout", "timed-out", "lost", "bad", "reset"),
            *("refused", "error", "failed", "truncated", "corrupted", "dropped", "never"),
        }
    ),
    "late": frozenset({"late", "slow"}),
    "busy": frozenset({"busy", "running", "rising", "moving", "active", "queued"}),
}
MARKS: dict[Mood, str] = {"good": "█", "late": "▒", "bad": "░", "busy": "▓", "idle": "·"}
WORDS: dict[Mood, str] = {
    "good": "answered",
    "late": "answered late",
    "bad": "waiting or lost",
    "busy": "counter moves",
    "idle": "counter flat",
}
LANES_MAX = 40
TRACKS_MAX = 6


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the timeline, its spans in time order.

    Spans of one lane that overlap lie on rows below one another; only the first has the name.
    """

    name: str
    spans: tuple[Span, ...]


def mood(state: str) -> Mood:
    """The mood of a state; a state that nobody knows counts as idle."""
    words = state.lower()
    return next((name for name, states in _MOODS.items() if words in states), "idle")


def lanes_of(timeline: Sequence[Span]) -> tuple[Lane, ...]:
    """The lanes in the order of their first mention."""
    names = list(dict.fromkeys(span.lane for span in timeline))[:LANES_MAX]
    lanes: list[Lane] = []
    for name in names:
        tracks = _tracks([span for span in timeline if span.lane == name])
        lanes += [Lane("" if place else name, tuple(t)) for place, t in enumerate(tracks)]
    return tuple(lanes)


def _tracks(spans: Sequence[Span]) -> list[list[Span]]:
    """The spans on as few rows as keep them from overlapping; a last row takes what is left."""
    tracks: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: (span.begin_s, span.end_s)):
        free = next((track for track in tracks if track[-1].end_s <= span.begin_s), None)
        if free is not None:
            free.append(span)
        elif len(tracks) < TRACKS_MAX:
            tracks.append([span])
        else:
            tracks[-1].append(span)
    return tracks


def time_range(timeline: Sequence[Span]) -> tuple[float, float]:
    """From the first begin to the last end, at least a millisecond."""
    begin = min(span.begin_s for span in timeline)
    return begin, max(begin + 0.001, *(span.end_s for span in timeline))


def moods_in(timeline: Sequence[Span]) -> list[Mood]:
    """The moods that occur, in a fixed order; what a legend must explain."""
    seen = {mood(span.state) for span in timeline}
    order: list[Mood] = ["good", "late", "bad", "busy", "idle"]
    return [name for name in order if name in seen]


def lanes_text(timeline: Sequence[Span], width: int) -> str:
    """The timeline in characters, a lane per line with an axis and a legend below."""
    lanes = lanes_of(timeline)
    begin, end = time_range(timeline)
    label_width = min(max(len(lane.name) for lane in lanes), 28)
    columns = max(width - label_width - 2, 20)
    lines = [
        f"{lane.name[:label_width]:<{label_width}}  {_bar(lane, begin, end, columns)}"
        for lane in lanes
    ]
    left, right = "0 s", duration(end - begin)
    axis = left + right.rjust(columns - len(left))
    legend = "   ".join(f"{MARKS[name]} {WORDS[name]}" for name in moods_in(timeline))
    return "\n".join([*lines, " " * (label_width + 2) + axis, " " * (label_width + 2) + legend])


def _bar(lane: Lane, begin: float, end: float, columns: int) -> str:
    cells = [" "] * columns
    for span in lane.spans:
        first = int((span.begin_s - begin) / (end - begin) * columns)
        last = int((span.end_s - begin) / (end - begin) * columns)
        for column in range(min(first, columns - 1), min(max(last, first + 1), columns)):
            cells[column] = MARKS[mood(span.state)]
    return "".join(cells).rstrip()
