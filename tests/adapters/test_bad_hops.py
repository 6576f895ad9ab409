"""A hop may do anything: each misdeed is an observation with its end code, soon and bounded.

The same hops are met by the prober and by the load generator, which read in different ways.
"""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.load import play_cell
from exonerate.adapters.prober import play_session
from exonerate.core.scene import LoadCell, ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]
Hop: TypeAlias = Callable[[Any], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
DONE = b"data: [DONE]\n\n"
SILENCE_S = 3.0
LOAD_SILENCE_S = 8.0
"""The load generator is a process of its own, to which no time is skipped."""
RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=20),
    max_tokens=8,
)


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def says(*pieces: bytes, then: str = "waits") -> Hop:
    """A hop that reads the request, says this, and then waits, closes or resets."""

    async def hop(peer: Any) -> None:
        await peer.request()
        await peer.send(*pieces)
        if then == "waits":
            await peer.until_gone()
        elif then == "resets":
            await peer.until_read()
            peer.reset()

    return hop


async def says_without_end(peer: Any) -> None:
    """A head that goes on and on."""
    await peer.request()
    await peer.send(OK)
    while True:
        await peer.send(b"X-Filler: " + b"x" * 1000 + b"\r\n")


async def trickles(peer: Any) -> None:
    """A header, a byte now and then, for ever."""
    await peer.request()
    await peer.send(OK + b"X-Filler: ")
    while True:
        await peer.send(b"x")
        await asyncio.sleep(0.01)


async def comments(peer: Any) -> None:
    """Signs of life, and never a token."""
    await peer.request()
    await peer.send(STREAM)
    while True:
        await peer.send(chunk(b": alive\n\n"))
        await asyncio.sleep(0.01)


async def floods(peer: Any) -> None:
    """The same as fast as they go."""
    await peer.request()
    await peer.send(STREAM)
    while True:
        await peer.send(chunk(b": alive\n\n" * 500))


HOPS: dict[str, tuple[Hop, str]] = {
    "says nothing": (says(), "cZH"),
    "closes at once": (says(then="closes"), "hFH"),
    "resets at once": (says(then="resets"), "hRH"),
    "closes in the head": (says(OK + b"Content-Ty", then="closes"), "hFH"),
    "resets in the head": (says(OK + b"Content-Ty", then="resets"), "hRH"),
    "falls silent in the head": (says(OK + b"Content-Ty"), "cZH"),
    "closes behind the head": (says(STREAM, then="closes"), "hFD"),
    "resets behind the head": (says(STREAM, then="resets"), "hRD"),
    "closes in a chunk": (says(STREAM + chunk(WORD) + b"ff\r\ndata: {", then="closes"), "hFD"),
    "resets in a chunk": (says(STREAM + chunk(WORD) + b"ff\r\ndata: {", then="resets"), "hRD"),
    "falls silent in a chunk": (says(STREAM + chunk(WORD) + b"ff\r\ndata: {"), "cZD"),
    "closes before the last chunk": (
        says(STREAM + chunk(WORD) + chunk(DONE), then="closes"), "hFE",
    ),
    "resets before the last chunk": (
        says(STREAM + chunk(WORD) + chunk(DONE), then="resets"), "hRE",
    ),
    "closes in an error page": (
        says(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 50\r\n\r\n<html>", then="closes"), "hFD",
    ),
    "is no HTTP": (says(b"\x16\x03\x01garbage\r\n\r\n"), "hXH"),
    "speaks only HTTP/2": (says(b"\0\0\0\x04\0\0\0\0\0"), "hXH"),
    "garbles its status": (says(b"HTTP/1.1 twohundred\r\n\r\n"), "hXH"),
    "garbles a header": (says(OK + b"no colon here\r\n\r\n"), "hXH"),
    "has two lengths": (says(OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), "hXH"),
    "has a wrong chunk size": (says(STREAM + chunk(WORD) + b"xyz\r\n"), "hXD"),
    "miscounts a chunk": (says(STREAM + chunk(WORD) + b"3\r\n" + WORD + b"\r\n"), "hXD"),
    "has an endless chunk size": (says(STREAM + b"1" * 5000), "hXD"),
    "has an endless head": (says_without_end, "hXH"),
    "upgrades unasked": (says(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), "hXH"),
    "says Continue for ever": (says(b"HTTP/1.1 100 Continue\r\n\r\n" * 40), "hXH"),
    "trickles": (trickles, "cFH"),
    "sends only comments": (comments, "cFD"),
    "promises more than it sends": (says(OK + b"Content-Length: 50\r\n\r\n{}"), "cZD"),
}  # fmt: skip
"""What a hop does, and the code that an exchange with it must have."""


def probe(scripted: Start, hop: Hop, deadline_s: float = 60.0) -> Exchange:
    """The one exchange of a session with that hop."""
    return asyncio.run(exchange_with(scripted, hop, deadline_s))


async def exchange_with(scripted: Start, hop: Hop, deadline_s: float) -> Exchange:
    """What a session of one round sees."""
    seen: list[Exchange] = []
    async with scripted(hop) as served:
        session = ProbeSession(
            name="s", hop="h", url=served.url, request=RECIPE, rounds=1, connection="reuse",
            think_s=0.0, deadline_s=deadline_s,
        )  # fmt: skip
        await play_session(session, clock=SystemClock(), emit=seen.append)
    (exchange,) = seen
    return exchange


@pytest.mark.parametrize("name", HOPS)
def test_a_probe_observes_it(scripted: Start, name: str) -> None:
    """Nothing raises, nothing counts as complete, and the code says who ended it, how and when."""
    hop, code = HOPS[name]
    waits = code.startswith("c")
    exchange = played(exchange_with(scripted, hop, SILENCE_S if waits else 60.0))
    assert exchange.end == code
    assert not exchange.complete
    assert (exchange.given_up == "deadline") == waits


def test_a_flood_cannot_outlive_the_deadline(scripted: Start) -> None:
    """A hop that sends more than can be read is given up in time, and was not silent."""
    exchange = probe(scripted, floods, SILENCE_S)
    assert (exchange.end, exchange.given_up) == ("cFD", "deadline")


def test_load_observes_the_same(scripted: Start) -> None:
    """The load generator meets all bad hops at once, and gives each its code."""
    hops = list(HOPS.values())

    async def one_for_each(peer: Any) -> None:
        await hops[(peer.number - 1) % len(hops)][0](peer)

    async def run() -> Any:
        async with scripted(one_for_each) as served:
            cell = LoadCell(
                name="c", hop="h", url=served.url, request=RECIPE, deadline_s=LOAD_SILENCE_S,
                concurrency=len(hops), requests=len(hops),
            )  # fmt: skip
            return await play_cell(cell, clock=SystemClock())

    event = asyncio.run(run())
    begun = sorted(event["rows"], key=lambda row: int(row[0]))
    found = dict(zip(HOPS, [row[4] for row in begun], strict=True))
    assert found == {name: code for name, (_, code) in HOPS.items()}
    assert event["instrument"]["resent"] == 0


def test_a_connection_that_is_reset_at_once_is_the_hops_end(scripted: Start) -> None:
    """RST before the request was read, whether it met the request on its way or came before."""

    async def hop(peer: Any) -> None:
        peer.reset()

    exchange = probe(scripted, hop)
    assert exchange.end in ("hRB", "hRH")
    assert exchange.status is None


@pytest.mark.parametrize("kind", [b"application/json", b"text/event-stream"])
def test_an_endless_body_is_bounded(scripted: Start, kind: bytes) -> None:
    """One event, or one JSON text, that never ends costs no more memory than its bound."""

    async def hop(peer: Any) -> None:
        await peer.request()
        await peer.send(OK + b"Content-Type: %s\r\n\r\n" % kind + b'data: {"a":"')
        for _ in range(60):
            await peer.send(b"x" * 1_000_000)

    tracemalloc.start()
    exchange = probe(scripted, hop)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert exchange.body_bytes > 50_000_000
    assert not exchange.complete
    assert peak < 60_000_000


def test_an_early_no_is_read_although_a_reset_follows(scripted: Start) -> None:
    """A hop that refuses a body, closes with most of it unread and so resets was still explicit."""

    async def hop(peer: Any) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")

    big = RequestRecipe(
        path="/v1/chat/completions", model="m", max_tokens=8,
        prompt=PromptRecipe(seed=1, prompt_tokens=1_000_000),
    )  # fmt: skip
    seen: list[Exchange] = []

    async def run() -> None:
        async with scripted(hop) as served:
            session = ProbeSession(
                name="s", hop="h", url=served.url, request=big, rounds=1, connection="reuse",
                think_s=0.0, deadline_s=60.0,
            )  # fmt: skip
            await play_session(session, clock=SystemClock(), emit=seen.append)

    asyncio.run(run())
    assert seen[0].status == 413
    assert seen[0].end == "hXB"
