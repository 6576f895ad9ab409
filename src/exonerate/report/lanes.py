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

Mood: TypeAlias = Literal["good", "bad", "busy", "idle"]

_MOODS: dict[Mood, frozenset[str]] = {
    "good": frozenset(
        {"ok", "answered", "complete", "completed", "done", "good", "healthy", "fast"}
    ),
    "bad": frozenset(
        {
            *("hung", "hang", "waiting", "stalled", "timeout", "timed-out", "lost", "bad", "reset"),
            *("refused", "error", "failed", "truncated", "corrupted", "late", "dropped", "never"),
        }
    ),
    "busy": frozenset({"busy", "running", "rising", "moving", "active", "queued", "slow"}),
}
MARKS: dict[Mood, str] = {"good": "█", "bad": "░", "busy": "▓", "idle": "·"}
WORDS: dict[Mood, str] = {
    "good": "answered",
    "bad": "waiting or lost",
    "busy": "counter moves",
    "idle": "counter flat",
}
LANES_MAX = 40


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the timeline, its spans in time order."""

    name: str
    spans: tuple[Span, ...]


def mood(state: str) -> Mood:
    """The mood of a state; a state that nobody knows counts as idle."""
    words = state.lower()
    return next((name for name, states in _MOODS.items() if words in states), "idle")


def lanes_of(timeline: Sequence[Span]) -> tuple[Lane, ...]:
    """The lanes in the order of their first mention."""
    names = list(dict.fromkeys(span.lane for span in timeline))[:LANES_MAX]
    return tuple(
        Lane(
            name,
            tuple(
                sorted(
                    (span for span in timeline if span.lane == name), key=lambda span: span.begin_s
                )
            ),
        )
        for name in names
    )


def time_range(timeline: Sequence[Span]) -> tuple[float, float]:
    """From the first begin to the last end, at least a millisecond."""
    begin = min(span.begin_s for span in timeline)
    return begin, max(begin + 0.001, *(span.end_s for span in timeline))


def moods_in(timeline: Sequence[Span]) -> list[Mood]:
    """The moods that occur, in a fixed order; what a legend must explain."""
    seen = {mood(span.state) for span in timeline}
    order: list[Mood] = ["good", "bad", "busy", "idle"]
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
