"""What the load generator reports of engines that behave and of engines that do not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.load import play_cell, request_json
from exonerate.core.scene import LoadCell, PromptRecipe, RequestRecipe

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":6}}\n\n'
DONE = b"data: [DONE]\n\n"


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


TAIL = chunk(FINISH) + chunk(USAGE) + chunk(DONE) + b"0\r\n\r\n"
WHOLE = STREAM_HEAD + chunk(WORD) * 5 + TAIL


def cell_at(url: str, **changes: Any) -> LoadCell:
    """A small cell."""
    settings: dict[str, Any] = {
        "name": "c4",
        "hop": "engine",
        "url": url,
        "request": RequestRecipe(
            path="/v1/chat/completions",
            model="m",
            prompt=PromptRecipe(seed=1, prompt_tokens=20),
            max_tokens=8,
        ),
        "concurrency": 4,
        "requests": 12,
        "deadline_s": 60.0,
    }
    settings.update(changes)
    return LoadCell(**settings)


def play(
    scripted: Start, script: Callable[[Any], Awaitable[None]], **changes: Any
) -> tuple[Any, Any]:
    """Play one cell against a scripted engine; returns the event and what the engine saw."""

    async def run() -> tuple[Any, Any]:
        async with scripted(script) as served:
            event = await play_cell(cell_at(served.url, **changes), clock=SystemClock())
            return event, served

    return asyncio.run(run())


def answers(*pieces: bytes, pause_s: float = 0.0) -> Callable[[Any], Awaitable[None]]:
    """An engine that gives every request the same bytes."""

    async def script(peer: Any) -> None:
        while await peer.request():
            await peer.send(*pieces, pause_s=pause_s)

    return script


def ends(event: Any) -> list[str]:
    """The end codes of the rows."""
    return [row[4] for row in event["rows"]]


def test_every_request_is_sent_once_and_measured(scripted: Start) -> None:
    """A healthy cell has one row per request, with tokens from the server's own count."""
    event, served = play(scripted, answers(WHOLE))
    assert ends(event) == ["ok"] * 12
    assert len(served.log) == 12
    assert [row[3] for row in event["rows"]] == [6] * 12
    assert [row[5] for row in event["rows"]] == [5] * 12
    assert event["concurrency"] == 4
    assert event["instrument"]["in_flight_peak"] == 4


def test_lanes_keep_their_connections(scripted: Start) -> None:
    """Four lanes need four connections, however many requests they send."""
    event, served = play(scripted, answers(WHOLE))
    assert len(served.peers) == 4
    assert event["instrument"]["connections"] == 4


def test_an_answer_of_many_bytes_at_once_is_read_whole(scripted: Start) -> None:
    """However much lies ready, and though the peer has closed behind it, nothing is left unread."""
    long = STREAM_HEAD + chunk(WORD) * 4000 + TAIL

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(long)

    event, _ = play(scripted, script, requests=8)
    assert ends(event) == ["ok"] * 8
    assert [row[5] for row in event["rows"]] == [4000] * 8


def test_no_two_prompts_begin_alike(scripted: Start) -> None:
    """Every prompt has its own beginning, so that no prefix cache is hit by accident."""
    _, served = play(scripted, answers(WHOLE))
    openings = {request.partition(b'"content":"')[2][:24] for request in served.log}
    assert len(openings) == 12


def test_the_same_cell_sends_the_same_prompts(scripted: Start) -> None:
    """Seed and cell name make the bodies again, byte for byte."""
    bodies = [
        sorted(request.partition(b"\r\n\r\n")[2] for request in served.log)
        for _, served in (play(scripted, answers(WHOLE)) for _ in range(2))
    ]
    assert bodies[0] == bodies[1]


def test_warm_up_requests_are_sent_but_not_counted(scripted: Start) -> None:
    """Warm-up requests reach the engine and stay out of the rows."""
    event, served = play(scripted, answers(WHOLE), warmup_requests=4)
    assert len(served.log) == 16
    assert len(event["rows"]) == 12


def test_a_stalled_stream_blocks_nobody(scripted: Start) -> None:
    """One answer that hangs is given up at its deadline while all others are measured."""

    async def script(peer: Any) -> None:
        while await peer.request():
            stalls = len(peer.log) == 3
            await peer.send(STREAM_HEAD + chunk(WORD) if stalls else WHOLE)

    event, _ = play(scripted, script, deadline_s=4.0)
    assert sorted(ends(event)) == ["cZD"] + ["ok"] * 11


def test_a_cut_stream_is_a_row_with_its_end_code(scripted: Start) -> None:
    """An answer that breaks off keeps its code, and the lane goes on over a new connection."""

    async def script(peer: Any) -> None:
        while await peer.request():
            if len(peer.log) == 2:
                await peer.send(STREAM_HEAD + chunk(WORD) * 2)
                return
            await peer.send(WHOLE)

    event, _ = play(scripted, script)
    assert sorted(ends(event)) == ["hFD"] + ["ok"] * 11
    assert len(event["rows"]) == 12


def test_an_http_error_is_a_row_with_its_end_code(scripted: Start) -> None:
    """A 503 counts as a failed request, not as a fast one."""
    answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    event, _ = play(scripted, answers(answer), requests=4)
    assert ends(event) == ["hXH"] * 4
    assert all(row[1] is None for row in event["rows"])


def test_a_coding_that_cannot_be_read_is_noted(scripted: Start) -> None:
    """Answers in a coding that was not offered are not complete, and the result says why."""
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: compress\r\n\r\n")
    event, _ = play(scripted, answers(head + chunk(b"\x1f\x9d") + b"0\r\n\r\n"), requests=4)
    assert ends(event) == ["---"] * 4
    (note,) = event["instrument"]["notes"]
    assert "`compress`" in note


def test_a_refused_connection_is_a_row(unused_port: int) -> None:
    """Nobody listening gives rows of refused connections, and the run ends."""
    cell = cell_at(f"http://127.0.0.1:{unused_port}", requests=4)
    event: Any = asyncio.run(play_cell(cell, clock=SystemClock()))
    assert ends(event) == ["hXK"] * 4


def test_an_engine_that_closes_after_each_answer_is_followed(scripted: Start) -> None:
    """A request lost to a connection that the peer had closed is sent again, on the record."""

    async def script(peer: Any) -> None:
        if await peer.request():
            await peer.send(WHOLE)

    event, _ = play(scripted, script, concurrency=1, requests=6)
    assert ends(event) == ["ok"] * 6
    assert event["instrument"]["resent"] <= 1
    assert event["instrument"]["connections"] >= 6


@pytest.mark.usefixtures("kernel_stamps")
def test_events_far_apart_are_timed_one_by_one(scripted: Start) -> None:
    """The first token's stamp is the first event's, not the end's."""
    sent_ns: list[int] = []

    async def script(peer: Any) -> None:
        await peer.request()
        for piece in (STREAM_HEAD, chunk(WORD), chunk(WORD), TAIL):
            sent_ns.append(time.monotonic_ns())
            await peer.send(piece)
            await peer.until_read()
        await peer.until_gone()

    event, _ = play(scripted, script, concurrency=1, requests=1)
    begun_ns, first_token_ns, ended_ns = event["rows"][0][:3]
    _, first_word_ns, second_word_ns, tail_ns = sent_ns
    slack_ns = 20_000_000  # what two clocks of one machine may be compared to within
    assert begun_ns < first_word_ns
    assert first_word_ns - slack_ns < first_token_ns < second_word_ns
    assert tail_ns - slack_ns < ended_ns


def test_an_unstreamed_answer_is_measured(scripted: Start) -> None:
    """A whole JSON answer has its tokens from usage."""
    body = (
        b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":3,"completion_tokens":8}}'
    )
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    event, _ = play(scripted, answers(answer))
    assert ends(event) == ["ok"] * 12
    assert [row[3] for row in event["rows"]] == [8] * 12


def test_the_time_limit_ends_a_cell(scripted: Start) -> None:
    """A cell stops at its time limit with what was measured until then."""
    event, _ = play(scripted, answers(), requests=4, deadline_s=60.0, time_limit_s=2.0)
    assert set(ends(event)) == {"cZH"}
    assert "time limit reached" in event["instrument"]["notes"]


def test_a_cancelled_cell_stops_its_worker(scripted: Start) -> None:
    """Cancelling the cell ends the worker process too."""

    async def run() -> bool:
        asked = asyncio.Event()

        async def script(peer: Any) -> None:
            await peer.request()
            asked.set()
            await peer.until_gone()

        async with scripted(script) as served:
            playing = asyncio.ensure_future(play_cell(cell_at(served.url), clock=SystemClock()))
            await asked.wait()
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing
            await asyncio.wait_for(served.gone.wait(), 60)
            return True

    assert asyncio.run(run())


@pytest.mark.usefixtures("kernel_stamps")
def test_the_instrument_reports_itself(scripted: Start) -> None:
    """CPU, lag and the source of the stamps are part of every result."""
    event, _ = play(scripted, answers(WHOLE))
    instrument = event["instrument"]
    assert instrument["kernel_stamps"]
    assert instrument["cpu_s"] > 0
    assert 0 < instrument["cpu_share"] < 2
    assert instrument["lag_ms_p99"] >= instrument["lag_ms_p50"] >= 0


def test_a_cell_that_is_cancelled_at_once_leaves_no_trace(scripted: Start) -> None:
    """A worker that is told to end before it has begun is no defect."""

    async def run() -> None:
        async with scripted(answers(WHOLE)) as served:
            cell = cell_at(served.url)
            playing = asyncio.ensure_future(play_cell(cell, clock=SystemClock()))
            await asyncio.sleep(0)
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing

    asyncio.run(run())


def test_a_worker_whose_starter_is_gone_ends_quietly(scripted: Start, tmp_path: Path) -> None:
    """Killing the command leaves no worker behind and no traceback on the terminal."""

    async def run() -> tuple[int, bytes]:
        async with scripted(answers(WHOLE)) as served:
            cell = cell_at(served.url)
            job = {
                "cell": "C=1/0",
                "url": served.url,
                "request": request_json(cell.request),
                "plan": {"kind": "closed", "concurrency": 1, "requests": 10**6},
                "deadline_s": 60.0,
                "time_limit_s": 60.0,
                "spool": str(tmp_path / "spool"),
            }
            ours, theirs = os.pipe()
            worker = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "exonerate.adapters.load_worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=theirs,
                stderr=asyncio.subprocess.PIPE,
            )
            os.close(theirs)
            assert worker.stdin is not None
            assert worker.stderr is not None
            worker.stdin.write(json.dumps(job).encode() + b"\n")
            await asyncio.to_thread(os.read, ours, 1)
            os.close(ours)
            said = await worker.stderr.read()
            return await worker.wait(), said

    assert asyncio.run(run()) == (0, b"")
