"""When bytes came, as a connection of ours stamps them on the machine's own clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.prober import play_session
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
WORD = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
DONE = b"data: [DONE]\n\n"


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def session_at(url: str, *, rounds: int = 1) -> ProbeSession:
    """A session of the shape that the tests here need."""
    prompt = PromptRecipe(seed=1, prompt_tokens=20)
    request = RequestRecipe(path="/v1/chat/completions", model="m", prompt=prompt, max_tokens=8)
    return ProbeSession(
        name="probe", hop="edge", url=url, request=request, rounds=rounds, connection="reuse",
        think_s=0.0, deadline_s=60.0,
    )  # fmt: skip


@pytest.mark.usefixtures("kernel_stamps")
def test_the_kernel_stamps_the_reads(scripted: Start) -> None:
    """On Linux the stamps are the kernel's, also where the reader was late."""

    async def script(peer: Any) -> None:
        while await peer.request():
            await peer.send(STREAM_HEAD + chunk(WORD) + chunk(DONE) + b"0\r\n\r\n")

    async def run() -> None:
        async with scripted(script) as served:
            session = session_at(served.url, rounds=2)
            await play_session(session, clock=SystemClock(), emit=seen.append)

    seen: list[Exchange] = []
    asyncio.run(run())
    assert [exchange.stamp_source for exchange in seen] == ["kernel", "kernel"]


def test_an_event_is_stamped_between_its_sending_and_its_reading(scripted: Start) -> None:
    """On the machine's own clock, whatever the machine does meanwhile."""
    sent_ns: list[int] = []
    read_ns: list[int] = []
    read = asyncio.Event()
    seen: list[Exchange] = []

    async def script(peer: Any) -> None:
        await peer.request()
        for piece in (STREAM_HEAD + chunk(WORD), chunk(WORD), chunk(WORD) + chunk(DONE)):
            read.clear()
            sent_ns.append(time.monotonic_ns())
            await peer.send(piece)
            await read.wait()
        await peer.send(b"0\r\n\r\n")
        await peer.until_gone()

    def note(_round: int, _read: Any) -> None:
        read_ns.append(time.monotonic_ns())
        read.set()

    async def run() -> None:
        async with scripted(script) as served:
            await play_session(
                session_at(served.url), clock=SystemClock(), emit=seen.append, on_read=note
            )

    asyncio.run(run())
    stamps_ms = [ms + (seen[0].begun_ns / 1e6) for ms in seen[0].arrivals_ms]
    for sent, stamp_ms, noted in zip(sent_ns, stamps_ms, read_ns[:3], strict=True):
        # The kernel's clock and ours are compared to within far less than this.
        assert sent / 1e6 - 20 <= stamp_ms <= noted / 1e6 + 20
