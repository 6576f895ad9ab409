"""Small servers that can fall silent or take long, and scenes of probe sessions played at them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.probing import ProbePerformer
from exonerate.adapters.performers.watching import SocketPerformer
from exonerate.adapters.player import Performer, ScenePlayer
from exonerate.core.scene import (
    Activity,
    Event,
    ProbeSession,
    PromptRecipe,
    RequestRecipe,
    Scene,
    WatchSockets,
)

EVENTS = (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b"data: [DONE]\n\n", b"")
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in EVENTS)
)


def silent(text: str, fraction: float | None) -> None:
    """No progress is shown."""


async def take_request(reader: asyncio.StreamReader) -> int:
    """Read one request with its body, and say how large that is.

    Raises:
        IncompleteReadError: there comes no further one.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    await reader.readexactly(length)
    return length


@asynccontextmanager
async def server(silent_from: int, *, cold_s: float = 0.0) -> AsyncIterator[int]:
    """A server whose connections fall silent at their n-th request; yields its port.

    `cold_s`: how long each waits with its first answer.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        try:
            while True:
                await take_request(reader)
                number += 1
                if number >= silent_from:
                    await reader.read()
                    return
                if number == 1:
                    await asyncio.sleep(cold_s)
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    started = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with started:
        yield started.sockets[0].getsockname()[1]


@asynccontextmanager
async def slow_server(wait_s: float) -> AsyncIterator[int]:
    """A server that takes a while for each answer; yields its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(wait_s)
            writer.write(ANSWER)
            await reader.read()
        finally:
            writer.close()

    started = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with started:
        yield started.sockets[0].getsockname()[1]


def session(name: str, port: int, *, rounds: int, deadline_s: float = 10.0) -> ProbeSession:
    """A session without idle time."""
    prompt = PromptRecipe(seed=1, prompt_tokens=8)
    request = RequestRecipe(path="/v1/chat/completions", model="m", prompt=prompt, max_tokens=2)
    return ProbeSession(
        name=name,
        hop="edge",
        url=f"http://127.0.0.1:{port}",
        request=request,
        rounds=rounds,
        connection="reuse",
        think_s=0.0,
        deadline_s=deadline_s,
    )


async def play(scene: Scene) -> Sequence[Event]:
    """Play one scene with real performers."""
    performers: dict[type[Activity], Performer] = {
        ProbeSession: ProbePerformer(Path("/"), {}, (), links={}),
        WatchSockets: SocketPerformer(),
    }
    return await ScenePlayer(clock=SystemClock(), performers=performers).play(scene, silent)
