"""One connection of the prober: an own non-blocking socket on the event loop.

Why not asyncio's streams: they give no ancillary data, and the kernel's receive stamp
(`SO_TIMESTAMPNS` through `recvmsg`) tells when the newest bytes of a read came even when this
process was late to read them. Bytes are stamped first and parsed later by somebody else.

The connection closes whole, or not at all; only `end_sending` half-closes it, for the one probe
that asks who minds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import struct
import time
from collections import deque

from exonerate.adapters.address import Address
from exonerate.adapters.clock import StampClock
from exonerate.adapters.link import Link
from exonerate.adapters.socket_facts import SO_TIMESTAMPNS, ending_of
from exonerate.adapters.tls import TlsBox, tls_context, tls_problem
from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.exchange import StampSource
from exonerate.core.wire.recorder import Read

READ_BYTES = 64 * 1024
READS_WAITING_MAX = 64
"""With more unread pieces the socket is left alone, so that a flood fills the kernel, not us."""

_ANCILLARY_BYTES = socket.CMSG_SPACE(16)
_TIMESPEC = struct.Struct("@qq")


class ConnectionLost(Exception):
    """The connection ended by something else than FIN."""

    def __init__(self, ending: Ending, error: str) -> None:
        super().__init__(error)
        self.ending = ending
        self.error = error


class Connection:
    """An open connection; `reads` fill by themselves while the event loop runs."""

    def __init__(self, sock: socket.socket, stamps: StampClock, *, tls: TlsBox | None) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._stamps = stamps
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._unsent = memoryview(b"")
        self._earliest_ns = time.monotonic_ns()
        self._listening = False
        self.reads: deque[Read] = deque()
        self.eof_ns: int | None = None
        self.lost: ConnectionLost | None = None
        self.connected_ns = self._earliest_ns
        self.secured_ns: int | None = None
        self.written_ns: int | None = None
        self.last_byte_ns = self._earliest_ns
        self.requests = 0
        self.ordinal = 0
        self.addresses_tried = 1
        self.local_port = _local_port(sock)
        self._listen(True)

    async def secure(self) -> None:
        """Shake hands; raises ConnectionLost where that fails."""
        if self._tls is None:
            return
        self._send_raw(self._tls.begin())
        while not self._tls.secured:
            await self.change()
            self.raise_if_over()
        self.secured_ns = time.monotonic_ns()

    def send(self, content: bytes) -> None:
        """Begin to write; `written_ns` is set when the kernel has taken the last byte."""
        self.requests += 1
        self.send_more(content)

    def send_more(self, content: bytes) -> None:
        """The same, for what belongs to a request that was begun."""
        self.written_ns = None
        self._send_raw(self._tls.encrypt(content) if self._tls else content)

    @property
    def protocol(self) -> str | None:
        """What the TLS handshake chose; None without TLS."""
        return self._tls.protocol if self._tls else None

    async def end_sending(self) -> None:
        """Send FIN once everything is written, and go on reading; not under TLS."""
        assert self._tls is None
        while self.written_ns is None and not (self.reads or self.lost or self.eof_ns):
            await self.change()
        if self.written_ns is not None and self.lost is None:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)

    async def change(self) -> None:
        """Wait until something is new: a read, an end, the last byte written."""
        self._changed.clear()
        if self.reads or self.eof_ns is not None or self.lost is not None:
            return
        await self._changed.wait()

    def take_read(self) -> Read | None:
        """The oldest read that was not taken yet."""
        if not self.reads:
            return None
        if not self._listening and len(self.reads) <= READS_WAITING_MAX:
            self._listen(self.eof_ns is None and self.lost is None)
        return self.reads.popleft()

    def poll(self) -> None:
        """Read what is there now, without waiting."""
        if self._listening:
            self._readable()

    def raise_if_over(self) -> None:
        """Raise ConnectionLost where the connection can bring nothing more."""
        if self.lost is not None:
            raise self.lost
        if self.eof_ns is not None:
            raise ConnectionLost("fin", "the peer closed during the TLS handshake")

    def close(self) -> None:
        """Close at once, both directions."""
        if self._fd >= 0:
            self._listen(False)
            self._loop.remove_writer(self._fd)
            self._sock.close()
            self._fd = -1

    # Writing.

    def _send_raw(self, raw: bytes) -> None:
        self._unsent = memoryview(bytes(self._unsent) + raw)
        self._writable()

    def _writable(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._writable)
            return
        except OSError as error:
            # The reason stands on the reading side: an early answer, a FIN or a reset.
            self._loop.remove_writer(self._fd)
            self._unsent = memoryview(b"")
            self.poll()
            if self.eof_ns is None and self.lost is None and not self.reads:
                self._lose(error)
            return
        self._loop.remove_writer(self._fd)
        self.written_ns = time.monotonic_ns()
        self._changed.set()

    # Reading.

    def _listen(self, on: bool) -> None:
        if on and not self._listening:
            self._loop.add_reader(self._fd, self._readable)
        elif self._listening and not on:
            self._loop.remove_reader(self._fd)
        self._listening = on

    def _readable(self) -> None:
        try:
            while len(self.reads) <= READS_WAITING_MAX:
                content, ancillary, _, _ = self._sock.recvmsg(READ_BYTES, _ANCILLARY_BYTES)
                read_ns = time.monotonic_ns()
                if not content:
                    self._end(read_ns)
                    return
                self._take(content, ancillary, read_ns)
                if len(content) < READ_BYTES:
                    return
        except BlockingIOError:
            self._earliest_ns = time.monotonic_ns()
        except OSError as error:
            self._lose(error)
        else:
            self._listen(False)

    def _take(self, content: bytes, ancillary: list[tuple[int, int, bytes]], read_ns: int) -> None:
        self._stamps.resync(read_ns)
        stamp_ns = read_ns
        kernel = ancillary and ancillary[0][1] == SO_TIMESTAMPNS
        if kernel:
            seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
            stamp_ns = self._stamps.monotonic_ns(seconds * NS_PER_S + nanoseconds)
        if self._tls is not None:
            content = self._plain(content)
        self.last_byte_ns = stamp_ns
        if content:
            source: StampSource = "kernel" if kernel else "read"
            self.reads.append(
                Read(content, min(stamp_ns, read_ns), read_ns, self._earliest_ns, source)
            )
        self._earliest_ns = read_ns
        self._changed.set()

    def _plain(self, records: bytes) -> bytes:
        assert self._tls is not None
        try:
            plain, answer = self._tls.take(records)
        except ssl.SSLError as error:
            self._send_raw(self._tls.last_words())
            self._lose(error)
            return b""
        if answer:
            self._send_raw(answer)
        if self._tls.closed:
            self._end(time.monotonic_ns())
        return plain

    def _end(self, at_ns: int) -> None:
        self.eof_ns = at_ns
        self._listen(False)
        self._changed.set()

    def _lose(self, error: OSError) -> None:
        self.lost = ConnectionLost(_ending_of(error), _describe(error))
        self._listen(False)
        self._changed.set()


class Dialer:
    """Opens connections to one address, numbered from 1."""

    def __init__(
        self, address: Address, stamps: StampClock, link: Link, *, keepalive_s: float | None = None
    ) -> None:
        self.address = address
        self._stamps = stamps
        self._link = link
        self._keepalive_s = keepalive_s
        self._context: ssl.SSLContext | None = None
        self.opened = 0
        self.resolved_ns: int | None = None
        self.connected_ns: int | None = None

    async def dial(self) -> Connection:
        """Resolve, connect, shake hands; raises ConnectionLost where one of them fails."""
        self.opened += 1
        self.resolved_ns = self.connected_ns = None
        resolved = await self._resolve()
        self.resolved_ns = time.monotonic_ns()
        failure: ConnectionLost | None = None
        for tried, (family, place) in enumerate(resolved, start=1):
            try:
                connection = await self._connect(family, place)
            except ConnectionLost as lost:
                failure = lost
                continue
            connection.ordinal = self.opened
            connection.addresses_tried = tried
            return await self._secured(connection)
        raise failure or ConnectionLost("unreachable", "the name has no address")

    async def _resolve(self) -> list[tuple[int, tuple[object, ...]]]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(
                self.address.host, self.address.port, type=socket.SOCK_STREAM
            )
        except OSError as error:
            raise ConnectionLost("unreachable", _describe(error)) from error
        return [(family, place) for family, _, _, _, place in found]

    async def _connect(self, family: int, place: tuple[object, ...]) -> Connection:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _ask_for_stamps(sock)
            if self._keepalive_s is not None:
                _keep_alive(sock, self._keepalive_s)
            await asyncio.get_running_loop().sock_connect(sock, place)
        except OSError as error:
            sock.close()
            raise ConnectionLost(_ending_of(error), _describe(error)) from error
        except BaseException:
            sock.close()
            raise
        self.connected_ns = time.monotonic_ns()
        return Connection(sock, self._stamps, tls=self._tls())

    async def _secured(self, connection: Connection) -> Connection:
        try:
            await connection.secure()
            if self.address.secure and self._link.http == "2" and connection.protocol != "h2":
                # Over TLS the handshake must have chosen it (RFC 9113, 3.2).
                raise ConnectionLost(
                    "refused", "the hop chose no HTTP/2 in the TLS handshake: see `http` of the hop"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _tls(self) -> TlsBox | None:
        if not self.address.secure:
            return None
        if self._context is None:
            self._context = tls_context(self._link)
        return TlsBox(self._context, self.address.host)


def _ask_for_stamps(sock: socket.socket) -> None:
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        # Not Linux, or a sandbox that refuses it: reads carry the time of the read instead.
        return


def _keep_alive(sock: socket.socket, every_s: float) -> None:
    """TCP keep-alive probes after each such silence; the kernel counts in whole seconds."""
    seconds = max(1, round(every_s))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, seconds)


def _local_port(sock: socket.socket) -> int | None:
    try:
        return int(sock.getsockname()[1])
    except (OSError, IndexError):
        return None


def _ending_of(error: OSError) -> Ending:
    # A handshake that fails is the peer's explicit no, or ours to its certificate.
    return "refused" if isinstance(error, ssl.SSLError) else ending_of(error)


def _describe(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return tls_problem(error)
    if isinstance(error, socket.gaierror) or not error.errno:
        return str(error) or type(error).__name__
    return os.strerror(error.errno)
