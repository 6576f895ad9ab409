"""What the prober reports of hops that behave and of hops that do not."""

from __future__ import annotations

import asyncio
import gzip
import socket
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.prober import StallWatch, play_session
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange
from exonerate.errors import ExonerateError

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
DONE = b"data: [DONE]\n\n"
PATIENCE_S = 60.0
"""What no machine is too slow for: no test waits for it."""


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


WHOLE = STREAM_HEAD + chunk(WORD) * 3 + chunk(FINISH) + chunk(DONE) + b"0\r\n\r\n"


def session_at(url: str, **changes: Any) -> ProbeSession:
    """A session of the shape that most tests need."""
    recipe: dict[str, Any] = {
        "path": "/v1/chat/completions",
        "model": "m",
        "prompt": PromptRecipe(seed=1, prompt_tokens=20, growth_tokens=10),
        "max_tokens": 8,
    }
    recipe.update(changes.pop("request", {}))
    settings: dict[str, Any] = {
        "name": "probe",
        "hop": "edge",
        "url": url,
        "request": RequestRecipe(**recipe),
        "rounds": 1,
        "connection": "reuse",
        "think_s": 0.0,
        "deadline_s": PATIENCE_S,
    }
    settings.update(changes)
    return ProbeSession(**settings)


def play(
    scripted: Start, script: Callable[[Any], Awaitable[None]], **changes: Any
) -> list[Exchange]:
    """Play one session against a scripted hop and return what it saw."""
    return asyncio.run(session_of(scripted, script, **changes))


def wait_out(
    scripted: Start, script: Callable[[Any], Awaitable[None]], **changes: Any
) -> list[Exchange]:
    """The same where time shall pass: on a clock that skips what is only waited for."""
    return played(session_of(scripted, script, **changes))


async def session_of(
    scripted: Start, script: Callable[[Any], Awaitable[None]], **changes: Any
) -> list[Exchange]:
    """What one session sees of a scripted hop."""
    seen: list[Exchange] = []
    async with scripted(script) as served:
        session = session_at(served.url, **changes)
        await play_session(session, clock=SystemClock(), emit=seen.append)
    return seen


def answers(*pieces: bytes, pause_s: float = 0.0) -> Callable[[Any], Awaitable[None]]:
    """A hop that gives every request the same bytes and then waits for the client."""

    async def script(peer: Any) -> None:
        while await peer.request():
            await peer.send(*pieces, pause_s=pause_s)

    return script


def once_then_close(*pieces: bytes) -> Callable[[Any], Awaitable[None]]:
    """A hop that answers the first request with these bytes and closes."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(*pieces)

    return script


def test_a_complete_stream_is_complete(scripted: Start) -> None:
    """A healthy stream has every stamp in order, its events and no end code."""
    (seen,) = play(scripted, answers(WHOLE))
    assert seen.complete
    assert seen.end == "---"
    assert seen.content.meaningful_events == 3
    assert seen.content.finish_reason == "length"
    assert len(seen.arrivals_ms) == 3
    assert seen.connected_ns is not None
    assert seen.written_ns is not None
    assert seen.first_byte_ns is not None
    assert seen.first_token_ns is not None
    assert seen.last_byte_ns is not None
    assert seen.begun_ns <= seen.connected_ns <= seen.written_ns <= seen.first_byte_ns
    assert seen.first_byte_ns <= seen.first_token_ns <= seen.last_byte_ns <= seen.ended_ns


def test_events_in_one_read_are_censored(scripted: Start) -> None:
    """A burst in one segment says that only the newest event's time is known."""
    (seen,) = play(scripted, answers(WHOLE))
    assert seen.censored_arrivals == 2


def test_events_apart_are_stamped_apart(scripted: Start) -> None:
    """Events that come one by one keep their distances, and none is censored."""
    pieces = (STREAM_HEAD, chunk(WORD), chunk(WORD), chunk(WORD) + chunk(DONE) + b"0\r\n\r\n")
    (seen,) = wait_out(scripted, answers(*pieces, pause_s=0.03))
    first, second, third = seen.arrivals_ms
    assert second - first == pytest.approx(30, abs=0.1)
    assert third - second == pytest.approx(30, abs=0.1)
    assert seen.censored_arrivals == 0


def test_rounds_share_one_connection(scripted: Start) -> None:
    """A reuse session sends every round over one socket and grows its history."""
    seen = play(scripted, answers(WHOLE), rounds=3)
    assert [exchange.connection.request_number for exchange in seen] == [1, 2, 3]
    assert {exchange.connection.ordinal for exchange in seen} == {1}
    assert seen[0].request_bytes < seen[1].request_bytes < seen[2].request_bytes
    assert seen[1].connected_ns is None


def test_fresh_rounds_use_a_connection_each(scripted: Start) -> None:
    """A fresh session opens a new socket for each round."""
    seen = play(scripted, answers(WHOLE), rounds=2, connection="fresh")
    assert [exchange.connection.ordinal for exchange in seen] == [1, 2]
    assert [exchange.connection.request_number for exchange in seen] == [1, 1]


def test_a_swallowed_request_waits_until_the_deadline(scripted: Start) -> None:
    """A hop that keeps silent ends the round at its deadline, as our silence."""
    seen = wait_out(scripted, answers(), rounds=3, deadline_s=0.2)
    assert [exchange.end for exchange in seen] == ["cZH"]
    assert seen[0].given_up == "deadline"
    assert seen[0].first_byte_ns is None
    assert not seen[0].complete


def test_a_given_up_round_closes_its_connection(scripted: Start) -> None:
    """After a deadline the hop sees the connection close, both directions at once."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.until_gone()

    async def run() -> None:
        async with scripted(script) as served:
            session = session_at(served.url, deadline_s=0.1)
            await play_session(session, clock=SystemClock(), emit=lambda _: None)
            await asyncio.wait_for(served.gone.wait(), PATIENCE_S)

    played(run())


def test_a_cut_stream_ends_by_the_hops_fin(scripted: Start) -> None:
    """FIN before the last chunk is a cut in the data, whatever the status said."""
    (seen,) = play(scripted, once_then_close(STREAM_HEAD, chunk(WORD)))
    assert seen.status == 200
    assert seen.end == "hFD"
    assert not seen.body_complete


def test_a_lost_last_chunk_is_seen_after_done(scripted: Start) -> None:
    """FIN after `[DONE]` but before the last chunk is a cut after the last event."""
    (seen,) = play(scripted, once_then_close(STREAM_HEAD, chunk(WORD), chunk(DONE)))
    assert seen.end == "hFE"
    assert not seen.body_complete
    assert not seen.complete


def test_a_missing_done_is_not_complete(scripted: Start) -> None:
    """A regular end of the framing without `[DONE]` is not a complete answer."""
    (seen,) = play(scripted, answers(STREAM_HEAD + chunk(WORD) + b"0\r\n\r\n"))
    assert seen.body_complete
    assert not seen.content.done_seen
    assert not seen.complete


def test_a_reset_is_told_from_a_close(scripted: Start) -> None:
    """RST in the data is named as such."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(STREAM_HEAD, chunk(WORD))
        await asyncio.sleep(0.05)
        peer.reset()

    (seen,) = wait_out(scripted, script)
    assert seen.end == "hRD"
    assert seen.content.meaningful_events == 1


def test_a_refused_connection_is_an_observation() -> None:
    """A port where nobody listens gives an explicit error while connecting."""
    seen: list[Exchange] = []
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        session = session_at(f"http://127.0.0.1:{unused.getsockname()[1]}")
        asyncio.run(play_session(session, clock=SystemClock(), emit=seen.append))
    assert [exchange.end for exchange in seen] == ["hXK"]
    assert seen[0].error == "Connection refused"


def test_a_name_that_does_not_resolve_is_an_observation() -> None:
    """A host name without an address is the network's explicit error."""
    seen: list[Exchange] = []
    session = session_at("http://no-such-host.invalid:1")
    asyncio.run(play_session(session, clock=SystemClock(), emit=seen.append))
    assert [exchange.end for exchange in seen] == ["nXK"]


def test_a_connection_closed_while_idle_is_replaced_and_noted(scripted: Start) -> None:
    """FIN before the next request is noted, and the round goes over a new connection."""
    seen = wait_out(scripted, once_then_close(WHOLE), rounds=2, think_s=0.1)
    assert [exchange.complete for exchange in seen] == [True, True]
    assert not seen[0].connection.closed_while_idle
    assert seen[1].connection.closed_while_idle
    assert seen[1].connection.ordinal == 2


def test_an_announced_close_is_no_surprise(scripted: Start) -> None:
    """After `Connection: close` the next round opens a new connection without complaint."""
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    seen = play(scripted, answers(WHOLE.replace(STREAM_HEAD, head)), rounds=2)
    assert [exchange.connection.ordinal for exchange in seen] == [1, 2]
    assert not seen[1].connection.closed_while_idle


def test_a_close_that_races_with_the_request_is_not_retried(scripted: Start) -> None:
    """Zero bytes back on a reused connection stands in the record; no second try hides it."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(WHOLE)
        if peer.number == 1:
            await peer.request()

    seen = play(scripted, script, rounds=2)
    assert seen[1].end == "hFH"
    assert seen[1].connection.request_number == 2
    assert seen[1].first_byte_ns is None


def test_a_buffered_burst_shows_in_the_arrivals(scripted: Start) -> None:
    """All events at once, late: first token and last event coincide."""

    async def script(peer: Any) -> None:
        await peer.request()
        await asyncio.sleep(0.1)
        await peer.send(WHOLE)

    (seen,) = wait_out(scripted, script)
    assert seen.arrivals_ms[0] >= 90
    assert seen.arrivals_ms[-1] == seen.arrivals_ms[0]


@pytest.mark.parametrize("status", [b"413 Payload Too Large", b"503 Service Unavailable"])
def test_an_http_error_is_explicit(scripted: Start, status: bytes) -> None:
    """An HTTP error is the hop's explicit error, with its status and speaker kept."""
    answer = b"HTTP/1.1 %s\r\nServer: nginx\r\nContent-Type: text/html\r\n" % status
    (seen,) = play(scripted, answers(answer + b"Content-Length: 6\r\n\r\n<html>"))
    assert seen.end == "hXH"
    assert seen.status == int(status[:3])
    assert seen.headers["server"] == "nginx"
    assert "html-body" in seen.content.defects


def test_an_early_error_while_the_body_is_sent_is_read(scripted: Start) -> None:
    """A 413 that comes while the request still goes out is seen, not lost in a reset."""

    async def script(peer: Any) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await peer.until_gone()

    prompt = PromptRecipe(seed=1, prompt_tokens=2_000_000)
    (seen,) = play(scripted, script, request={"prompt": prompt})
    assert seen.status == 413
    assert seen.end == "hXB"
    assert seen.written_ns is None


def test_garbage_is_named(scripted: Start) -> None:
    """Bytes that are no HTTP are an explicit breach, not a wait until the deadline."""
    (seen,) = play(scripted, answers(b"\x16\x03\x01garbage"))
    assert seen.end == "hXH"
    assert seen.error == "not-http"


def test_half_a_chunk_is_cut_at_the_close(scripted: Start) -> None:
    """A chunk that ends in its middle is a cut in the data."""
    (seen,) = play(scripted, once_then_close(STREAM_HEAD + b"ff\r\ndata: {"))
    assert seen.end == "hFD"


def test_a_content_length_too_long_waits_and_says_so(scripted: Start) -> None:
    """A promise of more bytes than come is silence in the data until the deadline."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}"
    (seen,) = wait_out(scripted, answers(answer), request={"stream": False}, deadline_s=0.2)
    assert seen.end == "cZD"
    assert not seen.body_complete


def test_a_content_length_too_short_leaves_bytes_behind(scripted: Start) -> None:
    """Bytes after the promised end are a defect, and the connection is not used again."""
    body = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sxx" % (len(body), body)
    seen = play(scripted, answers(answer), request={"stream": False}, rounds=2)
    assert "bytes-after-end" in seen[0].content.defects
    assert seen[1].connection.ordinal == 2


def test_an_endless_header_is_refused(scripted: Start) -> None:
    """A head that never ends is given up at a bound, long before the deadline."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await peer.send(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    (seen,) = play(scripted, script)
    assert seen.error == "head-too-long"
    assert seen.end == "hXH"


def test_a_huge_event_keeps_memory_bounded(scripted: Start) -> None:
    """An event of 10 MB is counted and dropped; the rest of the stream is still read."""
    huge = b'data: {"choices":[{"delta":{"content":"' + b"x" * 10_000_000 + b'"}}]}\n\n'
    pieces = [STREAM_HEAD, chunk(huge), chunk(WORD), chunk(DONE), b"0\r\n\r\n"]

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(*pieces)

    tracemalloc.start()
    (seen,) = play(scripted, script)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "oversized-event" in seen.content.defects
    assert seen.content.meaningful_events == 1
    assert peak < 40_000_000


def test_invalid_utf8_is_named(scripted: Start) -> None:
    """Bytes that are no UTF-8 inside an event are a defect of that answer."""
    bad = WORD.replace(b" word", b" w\xff")
    (seen,) = play(scripted, answers(STREAM_HEAD + chunk(bad) + chunk(DONE) + b"0\r\n\r\n"))
    assert seen.content.defects == ("invalid-utf8",)


def test_interim_answers_are_not_the_answer(scripted: Start) -> None:
    """A 100 and a 103 are counted; the first byte is the final answer's."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
    (seen,) = play(scripted, answers(interim, WHOLE, pause_s=0.1))
    assert seen.complete
    assert seen.interim_answers == 2
    assert seen.first_byte_ns is not None
    assert seen.first_byte_ns - seen.begun_ns > 90_000_000


def test_a_redirect_is_not_followed(scripted: Start) -> None:
    """A 302 is reported as it came, and nothing is sent anywhere else."""
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    (seen,) = play(scripted, answers(answer))
    assert seen.status == 302
    assert seen.headers["location"] == "http://127.0.0.1:1/"
    assert not seen.complete


def test_slow_bytes_cannot_outlive_the_deadline(scripted: Start) -> None:
    """A byte now and then does not move the deadline; that bytes flowed is in the code."""

    async def script(peer: Any) -> None:
        await peer.request()
        for byte in STREAM_HEAD + chunk(WORD) * 100:
            await peer.send(bytes([byte]))
            await asyncio.sleep(0.01)

    (seen,) = wait_out(scripted, script, deadline_s=0.4)
    assert seen.given_up == "deadline"
    assert seen.end == "cFH"
    assert seen.ended_ns - seen.begun_ns < 500_000_000


def test_compressed_streams_are_read(scripted: Start) -> None:
    """gzip is undone before `[DONE]` is judged."""
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    body = gzip.compress(WORD * 3 + DONE)
    (seen,) = play(scripted, answers(head + chunk(body[:20]) + chunk(body[20:]) + b"0\r\n\r\n"))
    assert seen.complete
    assert seen.content.meaningful_events == 3


def test_a_whole_answer_is_read(scripted: Start) -> None:
    """An unstreamed answer is complete when its JSON is."""
    body = (
        b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":3,"completion_tokens":1}}'
    )
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    (seen,) = play(scripted, answers(answer), request={"stream": False})
    assert seen.complete
    assert seen.content.completion_tokens == 1
    assert seen.first_token_ns is not None


def test_the_peer_that_closes_after_the_answer_is_noted(scripted: Start) -> None:
    """An answer that only FIN ends is complete where its stream said so, ended by the hop."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    (seen,) = play(scripted, once_then_close(head + WORD + DONE))
    assert seen.complete
    assert seen.framing == "close"
    assert seen.end == "hFE"


def test_alarms_ring_while_a_round_waits(scripted: Start) -> None:
    """The player is told about a waiting round while it waits, once for each alarm."""
    rung: list[tuple[float, int]] = []
    seen: list[Exchange] = []

    async def run() -> None:
        async with scripted(answers()) as served:
            watch = StallWatch(
                (
                    (0.05, lambda number: rung.append((0.05, number))),
                    (0.1, lambda number: rung.append((0.1, number))),
                    (9.0, lambda number: rung.append((9.0, number))),
                )
            )
            session = session_at(served.url, deadline_s=0.3, rounds=2, stop_after_failure=False)
            await play_session(session, clock=SystemClock(), emit=seen.append, stall=watch)

    played(run())
    assert rung == [(0.05, 1), (0.1, 1)]
    assert len(seen) == 2


def test_alarms_do_not_ring_while_events_come(scripted: Start) -> None:
    """A stream whose events keep coming is not waiting, however long it lasts."""
    rung: list[int] = []
    pieces = [STREAM_HEAD, *[chunk(WORD)] * 6, chunk(DONE) + b"0\r\n\r\n"]

    async def run() -> None:
        async with scripted(answers(*pieces, pause_s=0.05)) as served:
            watch = StallWatch(((0.2, rung.append),))
            await play_session(
                session_at(served.url), clock=SystemClock(), emit=lambda _: None, stall=watch
            )

    played(run())
    assert rung == []


def test_comments_do_not_hide_a_stall(scripted: Start) -> None:
    """Heartbeat comments are counted but are not progress: the alarm rings through them."""
    rung: list[int] = []
    seen: list[Exchange] = []
    pieces = [STREAM_HEAD, *[chunk(b": ping\n\n")] * 8, chunk(WORD) + chunk(DONE) + b"0\r\n\r\n"]

    async def run() -> None:
        async with scripted(answers(*pieces, pause_s=0.03)) as served:
            watch = StallWatch(((0.15, rung.append),))
            await play_session(
                session_at(served.url), clock=SystemClock(), emit=seen.append, stall=watch
            )

    played(run())
    assert rung == [1]
    assert seen[0].content.comments == 8


def test_a_waiting_round_can_be_given_up_early(scripted: Start) -> None:
    """Setting the event ends the waiting round at once, and the record says provisional."""
    seen: list[Exchange] = []

    async def run() -> None:
        async with scripted(answers()) as served:
            give_up = asyncio.Event()
            watch = StallWatch(((0.05, lambda _: give_up.set()),))
            await play_session(
                session_at(served.url, deadline_s=PATIENCE_S),
                clock=SystemClock(),
                emit=seen.append,
                stall=watch,
                give_up=give_up,
            )

    played(run())
    assert seen[0].given_up == "provisional"
    assert seen[0].end == "cZH"
    assert seen[0].ended_ns - seen[0].begun_ns < 100_000_000


def test_an_interrupted_round_is_still_recorded(scripted: Start) -> None:
    """Cancelling a session emits the round that was under way."""
    seen: list[Exchange] = []

    async def run() -> None:
        async with scripted(answers()) as served:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await play_session(
                        session_at(served.url), clock=SystemClock(), emit=seen.append
                    )

    played(run())
    assert [exchange.given_up for exchange in seen] == ["interrupted"]


def test_requests_identify_themselves(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request carries an honest User-Agent, its id, a traceparent and the key."""
    monkeypatch.setenv("TEST_KEY", "s3cret")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    log: list[bytes] = []

    async def script(peer: Any) -> None:
        log.append(await peer.request())
        await peer.send(WHOLE)

    (seen,) = play(scripted, script, request={"api_key_env": "TEST_KEY"})
    assert seen.complete
    assert b"user-agent: exonerate/" in log[0]
    assert f"x-request-id: {seen.request_id}".encode() in log[0]
    assert b"traceparent: 00-" in log[0]
    assert b"authorization: Bearer s3cret" in log[0]
    assert "s3cret" not in repr(seen)


def test_a_missing_key_is_the_operators_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key variable that is not set stops the session before anything is sent."""
    monkeypatch.delenv("TEST_KEY", raising=False)
    session = session_at("http://127.0.0.1:9", request={"api_key_env": "TEST_KEY"})
    with pytest.raises(ExonerateError, match="TEST_KEY"):
        asyncio.run(play_session(session, clock=SystemClock(), emit=lambda _: None))


def test_the_raw_bytes_can_be_had(scripted: Start) -> None:
    """Whoever asks gets every byte of the answer, read by read, as it came."""
    kept: list[tuple[int, bytes]] = []

    async def run() -> None:
        async with scripted(answers(WHOLE)) as served:
            await play_session(
                session_at(served.url, rounds=2),
                clock=SystemClock(),
                emit=lambda _: None,
                on_read=lambda number, read: kept.append((number, read.content)),
            )

    asyncio.run(run())
    assert b"".join(content for number, content in kept if number == 2) == WHOLE
