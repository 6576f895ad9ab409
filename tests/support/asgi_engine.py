"""A small engine behind a server of other people's making, which speaks both versions of HTTP.

`python tests/support/asgi_engine.py FD [CERTIFICATE KEY]` serves on a listening socket that it was
given; the words of an answer name the version of HTTP that the request came in.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from hypercorn.asyncio import serve
from hypercorn.config import Config

Message: TypeAlias = dict[str, Any]
WORD = 'data: {"choices":[{"index":0,"delta":{"content":" %s"}}]}\n\n'
FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


async def engine(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Read the whole request, then send three words, one by one."""
    if scope["type"] != "http":
        return
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = [(b"content-type", b"text/event-stream"), (b"x-served-by", b"asgi")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for word in (f"HTTP/{scope['http_version']}", scope["scheme"], f"{len(body)} bytes"):
        await _say(send, WORD % word)
    await _say(send, FINISH)
    await _say(send, "data: [DONE]\n\n")
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _say(send: Callable[[Message], Awaitable[None]], text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def main(descriptor: str, *pair: str) -> None:
    """Serve until SIGTERM."""
    config = Config()
    config.bind = [f"fd://{descriptor}"]
    config.loglevel = "ERROR"
    if pair:
        config.certfile, config.keyfile = pair
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)

    async def until_ended() -> None:
        await ended.wait()

    await serve(engine, config, shutdown_trigger=until_ended)  # type: ignore[arg-type]  # untyped


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
