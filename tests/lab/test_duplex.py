"""One end of a connection: what comes is kept, ends are seen, sending is bounded."""

from __future__ import annotations

import asyncio

from exonerate.lab.duplex import Duplex, happened


async def pair() -> tuple[Duplex, Duplex, asyncio.Server]:
    """Two ends of one loopback connection."""
    loop = asyncio.get_running_loop()
    accepted: asyncio.Future[Duplex] = loop.create_future()
    server = await loop.create_server(
        lambda: Duplex(asyncio.Event(), accepted.set_result), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    _, near = await loop.create_connection(lambda: Duplex(asyncio.Event()), "127.0.0.1", port)
    return near, await accepted, server


async def until_gone(end: Duplex) -> None:
    """Wait until the other side ended or left."""
    while not end.gone:
        assert await happened(end.changed, asyncio.get_running_loop().time() + 5)


def test_bytes_and_half_close() -> None:
    """Bytes arrive, a half-close is seen as an end, and the other direction still works."""

    async def work() -> None:
        near, far, server = await pair()
        near.send(b"question")
        near.send_eof()
        await until_gone(far)
        assert far.take() == b"question"
        assert not far.lost
        far.send(b"answer")
        far.close()
        await until_gone(near)
        assert near.take() == b"answer"
        near.close()
        server.close()
        await asyncio.sleep(0.01)

    asyncio.run(work())


def test_reset_is_a_loss() -> None:
    """A reset takes the connection away in both directions."""

    async def work() -> None:
        near, far, server = await pair()
        far.reset()
        await until_gone(near)
        for _ in range(100):
            if near.lost:
                break
            await asyncio.sleep(0.01)
        assert near.lost
        near.send(b"into the void")
        server.close()

    asyncio.run(work())


def test_a_reader_that_does_not_read_holds_the_sender_back() -> None:
    """Sending waits while the peer takes nothing, and goes on when it does."""

    async def work() -> None:
        near, far, server = await pair()
        near.send(b"x" * 50_000_000)
        sender = asyncio.ensure_future(near.drained())
        await asyncio.sleep(0.1)
        assert not sender.done()
        assert far.received_bytes < 50_000_000
        while not sender.done():
            far.take()
            await asyncio.sleep(0.001)
        near.close()
        while not far.gone:
            far.take()
            await happened(far.changed, asyncio.get_running_loop().time() + 1)
        far.close()
        server.close()
        await asyncio.sleep(0.01)

    asyncio.run(work())


def test_waiting_ends_at_its_time() -> None:
    """When nothing happens, waiting ends at the given moment and says so."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        assert not await happened(asyncio.Event(), loop.time() + 0.01)
        event = asyncio.Event()
        event.set()
        assert await happened(event, None)
        assert not event.is_set()

    asyncio.run(work())
