"""An exchange is recorded from its happenings alone."""

from __future__ import annotations

from exonerate.core.wire.exchange import ConnectionFacts
from exonerate.core.wire.recorder import ExchangeRecorder, Read

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: secret\r\n\r\n"
WORD = b'data: {"choices":[{"delta":{"content":" a"}}]}\n\n'


def begun() -> ExchangeRecorder:
    """A recorder whose request was written at 1 ms."""
    recorder = ExchangeRecorder(session="s", hop="h", round_number=1, dialect="chat")
    recorder.connection = ConnectionFacts(
        ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=1
    )
    recorder.begun_ns, recorder.connected_ns, recorder.written_ns = 0, 500_000, 1_000_000
    return recorder


def read(content: bytes, at_ms: float, late_ms: float = 0.0) -> Read:
    """A read whose newest bytes came at `at_ms`."""
    stamp_ns = int(at_ms * 1e6)
    return Read(content, stamp_ns, stamp_ns + int(late_ms * 1e6), 0, "kernel")


def test_stamps_are_the_kernels_and_lateness_is_kept() -> None:
    """A late reader still reports when the bytes came, and how late it was."""
    recorder = begun()
    recorder.read(read(HEAD + WORD, 10, late_ms=7))
    exchange = recorder.ended("fin", 20_000_000)
    assert exchange.arrivals_ms == (10.0,)
    assert exchange.first_token_ns == 10_000_000
    assert exchange.read_lateness_ms == 7.0
    assert exchange.stamp_source == "kernel"


def test_events_that_share_a_read_are_censored() -> None:
    """Three events in one read have one known time and two bounds."""
    recorder = begun()
    recorder.read(read(HEAD, 5))
    recorder.read(read(WORD * 3, 10))
    assert recorder.ended("fin", 20_000_000).censored_arrivals == 2


def test_headers_outside_the_allow_list_are_dropped() -> None:
    """A cookie is never kept."""
    recorder = begun()
    recorder.read(read(HEAD, 5))
    assert recorder.ended("fin", 9_000_000).headers == {"content-type": "text/event-stream"}


def test_progress_is_the_last_meaningful_event() -> None:
    """Comments do not move it; text does."""
    recorder = begun()
    recorder.read(read(HEAD + WORD, 5))
    recorder.read(read(b": ping\n\n", 50))
    assert recorder.last_progress_ns == 5_000_000


def test_a_last_event_that_only_fin_ends_is_counted() -> None:
    """An event that FIN cut off before its blank line still counts."""
    recorder = begun()
    recorder.read(read(HEAD + WORD.rstrip(b"\n"), 5))
    recorder.eof(9_000_000)
    exchange = recorder.ended("fin", 9_000_000)
    assert exchange.content.meaningful_events == 1
    assert len(exchange.arrivals_ms) == 1
