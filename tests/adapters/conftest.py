"""Small scripted servers on loopback for the tests of the client side."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson
import pytest

from exonerate.adapters.socket_facts import SO_TIMESTAMPNS
from exonerate.adapters.sockets import tcp_sockets

Script = Callable[["Peer"], Awaitable[None]]


def chunk(content: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(content), content)


def event(text: str) -> bytes:
    """One content event of a chat stream."""
    value = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return b"data: " + orjson.dumps(value) + b"\n\n"


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
FINISH = (
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n'
)
DONE = b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"
POLL_S, POLLS = 0.01, 6000


def whole_stream(*words: str) -> bytes:
    """A complete chat stream, head to last chunk."""
    events = b"".join(chunk(event(word)) for word in words or (" one", " two", " three"))
    return STREAM_HEAD + events + chunk(FINISH) + chunk(DONE) + LAST_CHUNK


@dataclass
class Peer:
    """One accepted connection, as a script sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int
    log: list[bytes] = field(default_factory=list)

    async def request(self) -> bytes:
        """Read one request, head and body; empty when the client has gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            body = await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        self.log.append(head + body)
        return head + body

    async def send(self, *pieces: bytes, pause_s: float = 0.0) -> None:
        """Write pieces with a pause between two of them."""
        for index, piece in enumerate(pieces):
            if index and pause_s:
                await asyncio.sleep(pause_s)
            self.writer.write(piece)
            await self.writer.drain()

    async def until_read(self) -> None:
        """Wait until the client has taken from its kernel whatever was sent to it."""
        near, far = (self.writer.get_extra_info(f"{end}name")[1] for end in ("sock", "peer"))
        for _ in range(POLLS):
            rows = tcp_sockets(lambda local, peer, _: (local, peer) == (far, near))
            if not any(row.unread_bytes for row in rows):
                return
            await asyncio.sleep(POLL_S)
        raise AssertionError("the client never read what was sent")

    def reset(self) -> None:
        """Close by RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def until_gone(self) -> None:
        """Wait until the client closes."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            return


@dataclass
class Served:
    """A running scripted server."""

    url: str
    port: int
    log: list[bytes]
    peers: list[Peer]
    gone: asyncio.Event


@asynccontextmanager
async def serve(script: Script) -> AsyncIterator[Served]:
    """Run a script for each connection until the block ends."""
    log: list[bytes] = []
    peers: list[Peer] = []
    gone = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer, len(peers) + 1, log)
        peers.append(peer)
        try:
            await script(peer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            gone.set()
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=32 * 1024 * 1024)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Served(f"http://127.0.0.1:{port}", port, log, peers, gone)
    finally:
        server.close()
        for peer in peers:
            # A transport that closed while it still wrote cannot be aborted any more.
            with suppress(AttributeError):
                peer.writer.transport.abort()
        await server.wait_closed()


@pytest.fixture
def scripted() -> Callable[[Script], AbstractAsyncContextManager[Served]]:
    """Starts a scripted server."""
    return serve


@pytest.fixture
def kernel_stamps() -> Iterator[None]:
    """Packets are stamped from the first on.

    The kernel begins in the background when a socket first asks for it (`net_enable_timestamp`),
    and goes on for as long as one such socket is open.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        for _ in range(POLLS):
            sock.sendto(b"x", sock.getsockname())
            # A datagram that nobody stamped on its way is stamped when it is read.
            time.sleep(POLL_S)
            before_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
            (_, _, content), *_ = sock.recvmsg(1, 64)[1]
            seconds, nanoseconds = struct.unpack("@qq", content)
            if seconds * 1_000_000_000 + nanoseconds < before_ns:
                break
        else:
            raise AssertionError("the kernel does not stamp what comes")
        yield


@pytest.fixture
def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])
