"""The timeline in characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exonerate.report.lanes import lanes_of, lanes_text, mood
from exonerate.report.verdict_view import Span

SPANS = [
    Span("probe", "round 1", 0.0, 1.0, "ok"),
    Span("engine", "0", 1.0, 10.0, "idle"),
    Span("probe", "round 2", 2.0, 10.0, "hung"),
]


def test_a_hang_is_seen_beside_a_flat_counter() -> None:
    """The waiting round and the flat counter share one axis."""
    probe, engine, axis, legend = lanes_text(SPANS, 40).split("\n")
    assert probe.startswith("probe   █")
    assert probe.endswith("░")
    assert engine.endswith("·")
    assert "10.0 s" in axis
    assert "░ waiting or lost" in legend


def test_lanes_keep_their_first_order_and_sort_their_spans() -> None:
    """Lanes stand in the order of their first mention."""
    assert [lane.name for lane in lanes_of(SPANS)] == ["probe", "engine"]


def test_spans_that_overlap_lie_below_one_another() -> None:
    """Two sessions of one lane at the same time are both seen; only the first row has a name."""
    spans = [Span("p", "a", 0, 9, "hung"), Span("p", "b", 1, 2, "ok"), Span("p", "c", 2, 3, "ok")]
    first, second = lanes_of(spans)
    assert (first.name, [span.label for span in first.spans]) == ("p", ["a"])
    assert (second.name, [span.label for span in second.spans]) == ("", ["b", "c"])


def test_a_slow_answer_is_not_a_lost_one() -> None:
    """An answer that came late is told apart from one that never came."""
    assert mood("late") != mood("hung")


def test_an_unknown_state_is_not_called_good_or_bad() -> None:
    """A state that nobody knows is drawn as idle."""
    assert mood("purple") == "idle"


TIMES = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=8), st.integers(1, 200))
def test_any_timeline_fits_its_width(times: list[tuple[float, float]], width: int) -> None:
    """Whatever the times, no line is wider than the width, of which there are 40 at least."""
    spans = [Span("lane", "x", min(pair), max(pair), "ok") for pair in times]
    lane = lanes_text(spans, width).split("\n")[0]
    assert len(lane) <= max(width, 40)
