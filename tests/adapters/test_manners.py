"""What our clients never do on their own: send twice, take a detour, close one direction.

Each would change what the hop sees, and hide what it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.http_get import get_page
from exonerate.adapters.load import play_cell
from exonerate.adapters.prober import play_session
from exonerate.adapters.tokenizer import EngineTokenizer
from exonerate.core.scene import LoadCell, ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]
Hop: TypeAlias = Callable[[Any], Awaitable[None]]

BODY = b'data: {"choices":[{"delta":{"content":" word"}}]}\n\ndata: [DONE]\n\n'
WHOLE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
)
PROXY_VARIABLES = (
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
)
RECIPE = RequestRecipe(
    path="/v1/chat/completions",
    model="m",
    prompt=PromptRecipe(seed=1, prompt_tokens=20),
    max_tokens=8,
)


async def probe(url: str, rounds: int = 1) -> list[Exchange]:
    """A session of rounds on one connection."""
    seen: list[Exchange] = []
    session = ProbeSession(
        name="s", hop="h", url=url, request=RECIPE, rounds=rounds, connection="reuse",
        think_s=0.0, deadline_s=60.0, stop_after_failure=False,
    )  # fmt: skip
    await play_session(session, clock=SystemClock(), emit=seen.append)
    return seen


async def load(url: str, requests: int = 1) -> Any:
    """A cell of requests, one after the other."""
    cell = LoadCell(
        name="c", hop="h", url=url, request=RECIPE, concurrency=1, requests=requests,
        deadline_s=60.0,
    )  # fmt: skip
    return await play_cell(cell, clock=SystemClock())


def against(scripted: Start, hop: Hop, play: Callable[[str], Awaitable[Any]]) -> tuple[Any, Any]:
    """What the client saw of the hop, and what the hop saw of the client."""

    async def run() -> tuple[Any, Any]:
        async with scripted(hop) as served:
            return await play(served.url), served

    return asyncio.run(run())


@pytest.mark.parametrize("client", [probe, load])
def test_an_environment_full_of_proxies_is_ignored(
    scripted: Start, client: Callable[[str], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go to the address that was given, whatever the variables say."""
    for variable in PROXY_VARIABLES:
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    async def hop(peer: Any) -> None:
        while await peer.request():
            await peer.send(WHOLE)

    _, served = against(scripted, hop, client)
    (request,) = served.log
    assert request.startswith(b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:")


def test_pages_and_token_counts_ignore_proxies_too(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics, health checks and the tokenizer are asked directly."""
    for variable in PROXY_VARIABLES:
        monkeypatch.setenv(variable, "http://127.0.0.1:1")

    async def hop(peer: Any) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"count":3}')

    async def ask(url: str) -> Any:
        page = await get_page(f"{url}/metrics", timeout_s=60.0)
        return page.status, await EngineTokenizer(url, "m").count("three little words")

    assert against(scripted, hop, ask)[0] == (200, 3)


@pytest.mark.parametrize("client", [probe, load])
@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Service Unavailable"])
def test_a_refusal_is_not_tried_again(
    scripted: Start, client: Callable[[str], Awaitable[Any]], status: bytes
) -> None:
    """Not even where the hop invites to it."""

    async def hop(peer: Any) -> None:
        while await peer.request():
            await peer.send(b"HTTP/1.1 %s\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n" % status)

    _, served = against(scripted, hop, client)
    assert len(served.log) == 1


@pytest.mark.parametrize("client", [probe, load])
def test_a_lost_answer_is_not_asked_for_again(
    scripted: Start, client: Callable[[str], Awaitable[Any]]
) -> None:
    """A request that was read and not answered was one request."""

    async def hop(peer: Any) -> None:
        await peer.request()

    _, served = against(scripted, hop, client)
    assert len(served.log) == len(served.peers) == 1


def test_what_load_sends_again_is_on_record(scripted: Start) -> None:
    """A reused connection that the peer had closed: once more on a new one, counted and noted."""

    async def hop(peer: Any) -> None:
        await peer.request()
        await peer.send(WHOLE)

    async def play(url: str) -> Any:
        return await load(url, requests=3)

    event, served = against(scripted, hop, play)
    instrument = event["instrument"]
    assert len(served.log) == 3
    assert instrument["connections"] == 3
    assert bool(instrument["resent"]) == bool(instrument["notes"])


@pytest.mark.parametrize("client", [probe, load])
def test_neither_direction_is_closed_before_the_other(
    scripted: Start, client: Callable[[str], Awaitable[Any]]
) -> None:
    """While a hop still answers, it sees no FIN of ours."""
    fins: list[bool] = []

    async def hop(peer: Any) -> None:
        while await peer.request():
            await peer.send(WHOLE[:80])
            try:
                fins.append(await asyncio.wait_for(peer.reader.read(1), 0.3) == b"")
            except TimeoutError:
                fins.append(False)
            await peer.send(WHOLE[80:])

    against(scripted, hop, client)
    assert fins == [False]
