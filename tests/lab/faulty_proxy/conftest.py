"""A faulty proxy in front of a scripted engine, both in the loop of the test."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from exonerate.lab.faulty_proxy.parse import parse_behaviour
from exonerate.lab.faulty_proxy.server import FaultyProxy, Serving
from exonerate.lab.faulty_proxy.upstream import Address
from exonerate.lab.scripted_engine.script import EngineScript
from exonerate.lab.scripted_engine.server import ScriptedEngine

Chain = Callable[[str, EngineScript], AbstractAsyncContextManager[tuple[int, int]]]


@asynccontextmanager
async def chain_of(rules: str, script: EngineScript) -> AsyncIterator[tuple[int, int]]:
    """The ports of the proxy and of the engine behind it."""
    behaviour = parse_behaviour(tomllib.loads(rules))
    async with asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[None]] = []
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[str] = loop.create_future()
        engine = ScriptedEngine(script)
        tasks.append(group.create_task(engine.serve("127.0.0.1", 0, ready.set_result)))
        engine_port = int((await ready).rpartition(":")[2])
        listening: asyncio.Future[str] = loop.create_future()
        proxy = FaultyProxy(
            Serving(
                host="127.0.0.1",
                port=0,
                engine=Address("127.0.0.1", engine_port),
                behaviour=lambda: behaviour,
            )
        )
        tasks.append(group.create_task(proxy.serve(listening.set_result)))
        yield int((await listening).rpartition(":")[2]), engine_port
        for task in tasks:
            task.cancel()


@pytest.fixture
def chain() -> Chain:
    """Makes a chain of a proxy with these rules and an engine with this script."""
    return chain_of
