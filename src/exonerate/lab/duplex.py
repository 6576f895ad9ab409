"""One end of a TCP connection as bytes that came, an end that was seen, and a way to send.

Both ends of a proxied exchange share one `asyncio.Event`: whoever relays between them sleeps until
anything at all has happened, or a deadline, and then looks. No tasks, no cancelled reads.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

# Above this the peer is not read any more until somebody has taken the bytes.
BUFFERED_BYTES_MAX = 1 << 20
NO_LINGER = struct.pack("ii", 1, 0)


class Duplex(asyncio.Protocol):
    """One end of a connection."""

    def __init__(
        self, changed: asyncio.Event, accepted: Callable[[Duplex], None] | None = None
    ) -> None:
        self.changed = changed
        self.incoming = bytearray()
        self.received_bytes = 0
        self.eof = False
        self.lost = False
        self.discard = False
        self._accepted = accepted
        self._transport: asyncio.Transport | None = None
        self._writable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and tell whoever accepts."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._accepted is not None:
            self._accepted(self)

    def data_received(self, data: bytes) -> None:
        """Keep the bytes until somebody takes them."""
        self.received_bytes += len(data)
        if not self.discard:
            self.incoming += data
            if len(self.incoming) > BUFFERED_BYTES_MAX and self._transport is not None:
                self._transport.pause_reading()
        self.changed.set()

    def eof_received(self) -> bool:
        """The peer sends no more; it may still read, so the transport stays open."""
        self.eof = True
        self.changed.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone in both directions."""
        self.lost = True
        self._writable = True
        self.changed.set()

    def pause_writing(self) -> None:
        """The peer does not take our bytes fast enough."""
        self._writable = False

    def resume_writing(self) -> None:
        """The peer takes bytes again."""
        self._writable = True
        self.changed.set()

    @property
    def gone(self) -> bool:
        """Whether the peer has ended its side, or the connection is lost."""
        return self.eof or self.lost

    def take(self) -> bytes:
        """Everything that has come and was not taken yet."""
        data = bytes(self.incoming)
        self.incoming.clear()
        if self._transport is not None and not self.lost:
            self._transport.resume_reading()
        return data

    def send(self, data: bytes) -> None:
        """Hand bytes to the kernel, or to the transport's buffer when the kernel is full."""
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        """Wait until the peer takes bytes again, so that memory stays bounded."""
        while not self._writable and not self.lost:
            await happened(self.changed, None)

    def send_eof(self) -> None:
        """End our direction; the peer's stays open."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """Send what is left, then FIN."""
        if self._transport is not None:
            self._transport.close()

    def reset(self) -> None:
        """Drop everything and send RST."""
        if self._transport is None or self.lost:
            return
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self._transport.abort()


async def happened(changed: asyncio.Event, until: float | None) -> bool:
    """Wait for the event, at most until a moment of the loop's clock; whether it came.

    Whoever waits must look at the state before: the event is cleared here.
    """
    try:
        async with asyncio.timeout_at(until):
            await changed.wait()
    except TimeoutError:
        return False
    changed.clear()
    return True
