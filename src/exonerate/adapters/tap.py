"""A neutral tap between two hops: every byte passes as it came, and is stamped on its way.

Rules
-----
1. Nothing is re-framed, held back or merged: what one read brought is written at once, and while
   the other side takes no more, nothing more is read.
2. FIN is passed on as FIN of that direction, RST as RST. The tap closes nothing on its own: a
   connection that both sides ended is over, and what is still open when the tap is taken away is
   closed then, by everybody's leave.
3. Stamp first, pass on second, look at it last (`core.wire.tapped`).

What no tap can hide: the connection to the hop is the tap's own, so that the hop sees another
port, and a hop that refuses connections looks to the client like one that resets them.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from exonerate.adapters.address import Address
from exonerate.core.ports import Clock
from exonerate.core.wire.tapped import ConnectionReducer, Side, TappedConnection, TappedExchange
from exonerate.errors import ExonerateError

READ_BYTES = 64 * 1024
BACKLOG = 512
CONNECT_TIMEOUT_S = 130.0
"""Longer than the kernel itself tries (tcp(7), `tcp_syn_retries`: about 127 s)."""
RESET_NOTICED_S = 0.02
_LINGER_NONE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class TapEars:
    """Whom the tap tells what crossed, as soon as it is over."""

    exchange: Callable[[TappedExchange], None]
    connection: Callable[[TappedConnection], None]
    opened: Callable[[ConnectionReducer], None] = lambda reducer: None
    """A connection was accepted; the reducer knows what crosses it until it is over."""


def tap_listener(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A listening socket for a tap.

    Raises:
        ExonerateError: the address is taken or not ours.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ExonerateError(
            f"a tap cannot listen on {host}:{port}: {error.strerror}", "name another port"
        ) from error
    listener.setblocking(False)
    return listener


async def run_tap(
    listener: socket.socket,
    upstream: Address,
    *,
    hop: str,
    clock: Clock,
    ears: TapEars,
    connections: int = 0,
) -> None:
    """Pass connections on until cancelled, or until that many have ended; closes the listener."""
    loop = asyncio.get_running_loop()
    ordinal = 0
    try:
        async with asyncio.TaskGroup() as group:
            while connections == 0 or ordinal < connections:
                client, peer = await loop.sock_accept(listener)
                ordinal += 1
                reducer = ConnectionReducer(
                    hop=hop, ordinal=ordinal, client_port=peer[1], opened_ns=clock.now()
                )
                ears.opened(reducer)
                group.create_task(_Relay(client, upstream, reducer, clock, ears).run())
    finally:
        listener.close()


class _Over(Exception):
    """The connection is over in both directions."""


class _Relay:
    """One connection: two directions, one order of events."""

    def __init__(
        self,
        client: socket.socket,
        upstream: Address,
        reducer: ConnectionReducer,
        clock: Clock,
        ears: TapEars,
    ) -> None:
        self._upstream = upstream
        self._reducer = reducer
        self._clock = clock
        self._ears = ears
        self._sockets: dict[Side, socket.socket] = {"client": client}
        self._seen: deque[tuple[Side, bytes, int]] = deque()
        self._finished: set[Side] = set()
        self._sent_after_fin: set[Side] = set()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        try:
            if await self._dial():
                async with asyncio.TaskGroup() as group:
                    self._group = group
                    group.create_task(self._pass_on("client", "hop"))
                    group.create_task(self._pass_on("hop", "client"))
        except* _Over:
            pass
        finally:
            for sock in self._sockets.values():
                sock.close()
            self._tell(self._reducer.finish(self._clock.now()))

    async def _dial(self) -> bool:
        loop = asyncio.get_running_loop()
        client = self._sockets["client"]
        _prepare(client)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                found = await loop.getaddrinfo(
                    self._upstream.host, self._upstream.port, type=socket.SOCK_STREAM
                )
                family, kind, protocol, _, address = found[0]
                hop = socket.socket(family, kind, protocol)
                self._sockets["hop"] = hop
                _prepare(hop)
                await loop.sock_connect(hop, address)
        except (OSError, TimeoutError) as error:
            self._reducer.refused(str(error) or "no connection", self._clock.now())
            _reset(client)
            return False
        self._reducer.connected(self._clock.now())
        return True

    async def _pass_on(self, source: Side, target: Side) -> None:
        while content := await self._receive(source):
            self._seen.append((source, content, self._clock.now()))
            await self._send(target, content)
            self._look()
        self._look()
        self._reducer.ended(source, "fin", self._clock.now())
        self._finished.add(source)
        self._tell(None)
        try:
            self._sockets[target].shutdown(socket.SHUT_WR)
        except OSError:
            self._end(target, "reset")
        if len(self._finished) == 2:
            for side in self._sent_after_fin:
                await self._ask_whether_reset(side)
            raise _Over

    async def _receive(self, source: Side) -> bytes:
        try:
            return await asyncio.get_running_loop().sock_recv(self._sockets[source], READ_BYTES)
        except OSError:
            self._end(source, "reset")

    async def _send(self, target: Side, content: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._sockets[target], content)
        except OSError:
            self._end(target, "reset")
        if target in self._finished and self._group is not None:
            self._sent_after_fin.add(target)
            self._group.create_task(self._ask_whether_reset(target))

    async def _ask_whether_reset(self, side: Side) -> None:
        """Nobody reads from a side that sent FIN, so that its RST must be asked for."""
        await asyncio.sleep(RESET_NOTICED_S)
        if self._sockets[side].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._end(side, "reset")

    def _end(self, side: Side, how: Literal["reset"]) -> NoReturn:
        """One side reset the connection: the other gets the same, and all is over."""
        self._look()
        self._reducer.ended(side, how, self._clock.now())
        self._tell(None)
        _reset(self._sockets["hop" if side == "client" else "client"])
        raise _Over

    def _look(self) -> None:
        while self._seen:
            side, content, at_ns = self._seen.popleft()
            self._reducer.bytes_from(side, content, at_ns)
        self._tell(None)

    def _tell(self, connection: TappedConnection | None) -> None:
        for exchange in self._reducer.done:
            self._ears.exchange(exchange)
        self._reducer.done.clear()
        if connection is not None:
            self._ears.connection(connection)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    # Small pieces must not wait for acknowledgements of earlier ones.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _reset(sock: socket.socket) -> None:
    """Make the coming close an RST (socket(7), SO_LINGER with a time of zero)."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
