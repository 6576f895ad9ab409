"""The event reader against the rules of the event-stream format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.sse import EVENT_BYTES_MAX, EventReader, SseEvent


def read_cut(body: bytes, cuts: list[int]) -> list[SseEvent]:
    """The events of a body that comes in pieces."""
    reader = EventReader()
    events: list[SseEvent] = []
    for cut in cuts:
        events += reader.feed(body[:cut])
        body = body[cut:]
    return [*events, *reader.feed(body)]


lines = st.text(
    st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=20
)
line_ends = st.sampled_from([b"\n", b"\r", b"\r\n"])


@given(
    st.lists(st.lists(lines, min_size=1, max_size=3), max_size=5),
    line_ends,
    st.lists(st.integers(1, 30), max_size=30),
)
def test_events_survive_every_cut_and_line_end(
    events: list[list[str]], line_end: bytes, cuts: list[int]
) -> None:
    """Multi-line data arrives whole, whatever ends the lines and wherever reads are cut."""
    body = b"".join(
        b"".join(b"data: " + line.encode() + line_end for line in event) + line_end
        for event in events
    )
    expected = ["\n".join(event).encode() for event in events]
    assert [event.data for event in read_cut(body, cuts)] == expected
    bytewise = read_cut(body, [1] * len(body))
    assert [event.data for event in bytewise] == expected


@given(st.binary(max_size=300))
def test_garbage_never_raises(garbage: bytes) -> None:
    """Whatever comes, the reader answers with events, and the cut does not matter."""
    assert read_cut(garbage, []) == read_cut(garbage, [1] * len(garbage))


@pytest.mark.parametrize("cuts", [[], [8], [8, 1], [8, 1, 1], [1] * 20])
def test_a_blank_line_behind_a_cut_line_end_ends_its_event(cuts: list[int]) -> None:
    """CR and LF of one line end may come apart, and the next LF is a line end of its own."""
    assert read_cut(b"data: a\r\n\ndata: b\n\n", cuts) == [SseEvent(b"a"), SseEvent(b"b")]


def test_comments_are_counted_and_are_no_events() -> None:
    """Heartbeats are seen and are not mistaken for events."""
    reader = EventReader()
    assert reader.feed(b": ping\n\n:\n\ndata: x\n\n") == [SseEvent(b"x")]
    assert reader.comments == 2


def test_event_names_and_other_fields_are_read() -> None:
    """A name belongs to its event; ids and retries are skipped."""
    reader = EventReader()
    assert reader.feed(b"event: error\nid: 7\nretry: 1\ndata:x\n\ndata: y\n\n") == [
        SseEvent(b"x", b"error"),
        SseEvent(b"y"),
    ]


def test_a_byte_order_mark_is_dropped() -> None:
    """A byte order mark before the first line does not spoil it."""
    assert read_cut(b"\xef\xbb\xbfdata: x\n\n", [1, 1]) == [SseEvent(b"x")]


def test_an_event_without_its_blank_line_is_handed_out_at_the_end() -> None:
    """A last event that the end of the body cut off is not lost."""
    reader = EventReader()
    assert reader.feed(b"data: [DONE]") == []
    assert reader.finish() == [SseEvent(b"[DONE]")]


def test_leaked_chunk_sizes_are_counted() -> None:
    """A bare hexadecimal line inside the body betrays a hop that leaks its framing."""
    reader = EventReader()
    reader.feed(b"data: x\n\n1a\ndata: y\n\n")
    assert reader.chunk_size_lines == 1


@pytest.mark.parametrize("step", [1024 * 1024, 4096 * 1024])
def test_an_oversized_event_is_dropped_and_the_next_one_read(step: int) -> None:
    """An event beyond the bound is counted; what follows is read."""
    reader = EventReader()
    body = b"data: " + b"x" * (EVENT_BYTES_MAX + 10) + b"\n\ndata: y\n\n"
    events = [
        event for at in range(0, len(body), step) for event in reader.feed(body[at : at + step])
    ]
    assert events == [SseEvent(b"y")]
    assert reader.oversized == 1
