"""Engines count tokens in their own ways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest

from exonerate.adapters.tokenizer import EngineTokenizer

Start: TypeAlias = Callable[[Callable[[Any], Awaitable[None]]], AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize(
    ("status", "body", "counted"),
    [
        (b"200 OK", b'{"count": 3, "tokens": [1, 2, 3]}', 3),
        (b"200 OK", b'{"tokens": [1, 2, 3, 4]}', 4),
        (b"200 OK", b"[]", None),
        (b"200 OK", b"<html>", None),
        (b"404 Not Found", b"{}", None),
    ],
)
def test_a_count_is_read_or_there_is_none(
    scripted: Start, status: bytes, body: bytes, counted: int | None
) -> None:
    """vLLM's and SGLang's `count`, llama.cpp's `tokens`, and everything else counts nothing."""

    async def script(peer: Any) -> None:
        await peer.request()
        head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
        await peer.send(head + body)

    async def run() -> int | None:
        async with scripted(script) as served:
            return await EngineTokenizer(served.url, "m").count("a b c")

    assert asyncio.run(run()) == counted


def test_nobody_there_counts_nothing(unused_port: int) -> None:
    """A refused connection is no reason to stop."""
    tokenizer = EngineTokenizer(f"http://127.0.0.1:{unused_port}", "m")
    assert asyncio.run(tokenizer.count("a")) is None
