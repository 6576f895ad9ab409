"""What a session can vary: the size of each body, and what keeps its connection alive."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.prober import play_session
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import Exchange

Script: TypeAlias = Callable[[Any], Awaitable[None]]
Start: TypeAlias = Callable[[Script], AbstractAsyncContextManager[Any]]

ANSWER = b'{"choices":[{"message":{"content":"word"},"finish_reason":"stop"}]}'
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


def play(
    scripted: Start,
    script: Script,
    *,
    rounds: int = 1,
    sizes: tuple[int, ...] = (),
    keepalive_s: float | None = None,
) -> list[Exchange]:
    """Play one session against a scripted hop and return what it saw."""
    seen: list[Exchange] = []
    request = RequestRecipe(
        path="/v1/chat/completions",
        model="m",
        prompt=PromptRecipe(seed=1, prompt_tokens=20, growth_tokens=10),
        max_tokens=8,
        stream=False,
        body_bytes=sizes,
    )

    async def run() -> None:
        async with scripted(script) as served:
            session = ProbeSession(
                name="probe",
                hop="edge",
                url=served.url,
                request=request,
                rounds=rounds,
                connection="reuse",
                think_s=0.0,
                deadline_s=60.0,
                tcp_keepalive_s=keepalive_s,
            )
            await play_session(session, clock=SystemClock(), emit=seen.append)

    asyncio.run(run())
    return seen


def timers_of(port: int) -> list[str]:
    """Which kernel timer runs on the sockets with this local port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row[5][:2] for row in rows if row[1].endswith(f":{port:04X}")]


@pytest.mark.parametrize(("every_s", "timer"), [(None, "00"), (1.0, "02")])
def test_a_session_can_keep_its_connection_alive(
    scripted: Start, every_s: float | None, timer: str
) -> None:
    """The kernel's keep-alive timer (2 in the column `tr`) runs on the socket, or not."""
    timers: list[str] = []

    async def script(peer: Any) -> None:
        await peer.request()
        timers.extend(timers_of(peer.writer.get_extra_info("peername")[1]))
        await peer.send(WHOLE)

    play(scripted, script, keepalive_s=every_s)
    assert timer in timers


def test_one_session_can_walk_several_sizes(scripted: Start) -> None:
    """Each round's body has the size that its recipe says, and what was sent is recorded."""

    async def script(peer: Any) -> None:
        while await peer.request():
            await peer.send(WHOLE)

    seen = play(scripted, script, rounds=3, sizes=(400, 9000, 700))
    assert [exchange.body_sent_bytes for exchange in seen] == [400, 9000, 700]
