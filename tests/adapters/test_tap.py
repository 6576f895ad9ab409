"""The tap on real sockets: what crosses it is what would have crossed without it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from exonerate.adapters.address import Address
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.tap import TapEars, run_tap, tap_listener
from exonerate.core.wire.tapped import TappedConnection, TappedExchange
from exonerate.errors import ExonerateError

REQUEST = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n{"choices":[{"text":"x"}]}'[:-1]
WAIT_S = 60.0
FLOOD_BYTES = 1 << 30


@dataclass
class Heard:
    """What the tap told."""

    exchanges: list[TappedExchange] = field(default_factory=list)
    connections: list[TappedConnection] = field(default_factory=list)


async def receive(sock: socket.socket) -> bytes:
    """One read, with a limit in time."""
    loop = asyncio.get_running_loop()
    return await asyncio.wait_for(loop.sock_recv(sock, 65536), WAIT_S)


async def send(sock: socket.socket, content: bytes) -> None:
    """Write everything."""
    await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(sock, content), WAIT_S)


async def send_slowly(sock: socket.socket) -> None:
    """A byte now and then, for two seconds."""
    for _ in range(200):
        await asyncio.sleep(0.01)
        await send(sock, b"x")


async def flood(sock: socket.socket) -> None:
    """Write until nobody takes more."""
    loop = asyncio.get_running_loop()
    for _ in range(FLOOD_BYTES >> 20):
        await asyncio.wait_for(loop.sock_sendall(sock, b"x" * (1 << 20)), 0.3)


def reset(sock: socket.socket) -> None:
    """Close with RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


Story = Callable[[socket.socket, socket.socket], Awaitable[None]]


async def tell(story: Story) -> Heard:
    """Play a story between a client and a hop with a tap in between; what the tap heard."""
    loop = asyncio.get_running_loop()
    heard = Heard()
    with tap_listener() as hop_listener, socket.socket() as client:
        client.setblocking(False)
        listener = tap_listener()
        port = listener.getsockname()[1]
        upstream = Address("127.0.0.1", hop_listener.getsockname()[1], secure=False)
        ears = TapEars(heard.exchanges.append, heard.connections.append)
        async with asyncio.TaskGroup() as group:
            tap = group.create_task(
                run_tap(
                    listener, upstream, hop="edge", clock=SystemClock(), ears=ears, connections=1
                )
            )
            await loop.sock_connect(client, ("127.0.0.1", port))
            hop, _ = await asyncio.wait_for(loop.sock_accept(hop_listener), WAIT_S)
            with hop:
                await story(client, hop)
                client.close()
            await asyncio.wait_for(asyncio.shield(tap), WAIT_S)
    return heard


def test_bytes_pass_as_they_came_and_the_exchange_is_recorded() -> None:
    """Nothing is changed, merged or kept back; the record says that all was whole."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        assert await receive(hop) == REQUEST
        for byte in (ANSWER[:1], ANSWER[1:30], ANSWER[30:]):
            await send(hop, byte)
            assert await receive(client) == byte

    heard = asyncio.run(tell(story))
    assert [e.how for e in heard.exchanges] == ["framed"]
    (connection,) = heard.connections
    assert (connection.client_bytes, connection.hop_bytes) == (len(REQUEST), len(ANSWER))
    assert connection.client_fin_ns is not None


def test_a_half_close_passes_and_the_other_direction_stays_open() -> None:
    """The hop sees the end of the request side and can still answer."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        client.shutdown(socket.SHUT_WR)
        assert await receive(hop) == REQUEST
        assert await receive(hop) == b""
        await send(hop, ANSWER)
        assert await receive(client) == ANSWER
        hop.shutdown(socket.SHUT_WR)
        assert await receive(client) == b""

    heard = asyncio.run(tell(story))
    assert heard.exchanges[0].half_closed_ns is not None
    assert heard.exchanges[0].how == "framed"


def test_the_tap_never_ends_a_connection_by_itself() -> None:
    """While nobody closes, a silent connection stays as it is."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        await receive(hop)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 0.2)

    heard = asyncio.run(tell(story))
    assert heard.exchanges[0].ended_by == "client"


@pytest.mark.parametrize("who", ["client", "hop"])
def test_a_reset_passes_as_a_reset(who: str) -> None:
    """RST from either side reaches the other as RST, and the record names who sent it."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        await receive(hop)
        reset(client if who == "client" else hop)
        with pytest.raises(ConnectionResetError):
            await receive(hop if who == "client" else client)

    heard = asyncio.run(tell(story))
    assert (heard.exchanges[0].ended_by, heard.exchanges[0].how) == (who, "reset")


def test_a_client_that_is_gone_resets_what_comes_later() -> None:
    """The hop learns that nobody reads any more, as it would without the tap."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        await receive(hop)
        client.close()
        assert await receive(hop) == b""
        await send(hop, ANSWER)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            await send_slowly(hop)

    heard = asyncio.run(tell(story))
    assert heard.exchanges[0].ended_by == "client"


def test_a_reader_that_stops_stops_the_sender() -> None:
    """The tap holds no more than the kernel does: a flood fills the path, not the memory."""

    async def story(client: socket.socket, hop: socket.socket) -> None:
        await send(client, REQUEST)
        await receive(hop)
        with pytest.raises(TimeoutError):
            await flood(hop)

    heard = asyncio.run(tell(story))
    assert heard.connections[0].hop_bytes < FLOOD_BYTES


def test_a_hop_that_is_down_is_an_observation() -> None:
    """The client is reset, and the record says why."""

    async def play() -> Heard:
        heard = Heard()
        closed = tap_listener()
        port = closed.getsockname()[1]
        closed.close()
        listener = tap_listener()
        ears = TapEars(heard.exchanges.append, heard.connections.append)
        with socket.socket() as client:
            client.setblocking(False)
            async with asyncio.TaskGroup() as group:
                upstream = Address("127.0.0.1", port, secure=False)
                clock = SystemClock()
                own_port = listener.getsockname()[1]
                group.create_task(
                    run_tap(listener, upstream, hop="e", clock=clock, ears=ears, connections=1)
                )
                await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", own_port))
                with pytest.raises(ConnectionResetError):
                    await receive(client)
        return heard

    assert "Errno 111" in (asyncio.run(play()).connections[0].error or "")


def test_a_port_that_is_taken_is_the_operators_to_solve() -> None:
    """The message names the address."""
    with tap_listener() as first:
        port = first.getsockname()[1]
        with pytest.raises(ExonerateError, match=str(port)):
            tap_listener(port=port)
