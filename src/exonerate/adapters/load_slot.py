"""One connection of the load loop and the request that is on it.

The hot path is in `load_loop`: it reads, keeps and goes on. A slot is asked only when something
else happens: connect, TLS, writing, the head, the end, an error.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

from exonerate.adapters.load_flight import Flight
from exonerate.adapters.socket_facts import SO_TIMESTAMPNS, ending_of
from exonerate.adapters.tls import TlsBox, tls_problem
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.kept_answer import RunMemory
from exonerate.core.wire.kept_reads import NO_STAMP, Wake

Ancillary: TypeAlias = "list[tuple[int, int, bytes]]"
Receive: TypeAlias = Callable[[int, int], tuple[bytes, Ancillary, int, object]]


@dataclass(frozen=True, slots=True)
class Target:
    """Where every slot connects to; resolved once."""

    family: int
    place: tuple[object, ...]
    host: str
    context: ssl.SSLContext | None
    dialect: Dialect
    notes: list[str] = field(default_factory=list)
    """What the operator should know of the handshakes, once each."""


class Slot:
    """A connection, kept from one request to the next where the peer allows it."""

    def __init__(self, target: Target, memory: RunMemory) -> None:
        self._target = target
        self._memory = memory
        self._tls: TlsBox | None = None
        self._unsent = memoryview(b"")
        self._connect_error = 0
        self._sock: socket.socket | None = None
        self._connected = False
        self.interest = 0
        self.fd = -1
        self.receive: Receive = _not_open
        self.requests = 0
        self.flight: Flight | None = None
        self.quick = False
        """The loop may keep what it reads without asking."""

    @property
    def connected(self) -> bool:
        """Requests can be written: connected, and past the handshake where there is one."""
        return self._connected and (self._tls is None or self._tls.secured)

    # Sending.

    def begin(self, flight: Flight) -> bool:
        """Send a request; returns whether a new connection was opened for it."""
        self.flight = flight
        self.quick = False
        flight.expect(self._target.dialect, self._memory)
        if self._sock is not None:
            self._send_request(flight)
            return False
        self._open()
        return True

    def resend(self) -> None:
        """Send the same request again on a new connection; the record says so."""
        assert self.flight is not None
        self.close()
        self.flight.resent = True
        self.begin(self.flight)

    def wants_to_write(self) -> bool:
        """The loop must wait until the socket takes more."""
        return not self._connected or bool(self._unsent)

    def writable(self) -> Ending | None:
        """The socket connected or takes more bytes; returns how the exchange ended, if it did."""
        assert self._sock is not None
        if self._connected:
            return self._flush()
        error = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or self._connect_error
        if error not in (0, errno.EINPROGRESS):
            return ending_of(OSError(error, ""))
        self._connected = True
        if self._target.context is not None:
            self._tls = TlsBox(self._target.context, self._target.host)
            self._unsent = memoryview(self._tls.begin())
            return self._flush()
        assert self.flight is not None
        return self._send_request(self.flight)

    def close(self) -> None:
        """Close whole and at once."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        self._connected = False
        self._tls = None
        self._unsent = memoryview(b"")

    # Receiving.

    def keep(self, content: bytes, ancillary: Ancillary, wake: Wake) -> Ending | None:
        """Bytes came and need a look; returns how the exchange ended, if it did."""
        flight = self.flight
        if self._tls is not None:
            try:
                content, answer = self._tls.take(content)
            except ssl.SSLError as error:
                return self._refused(self._tls, error)
            self._unsent = memoryview(bytes(self._unsent) + answer)
            ending = self._after_records(self._tls)
            if ending is not None or not content:
                return ending
        if flight is None:
            # Bytes that nobody asked for: the connection is not used again.
            return "broken"
        flight.keep(content, ancillary[0][2] if ancillary else NO_STAMP, wake)
        # A request that still goes out, or TLS, needs the careful way for every read.
        self.quick = flight.answer.quick and self._tls is None and not self._unsent
        return "framed" if flight.answer.finished else None

    def unanswered(self) -> bool:
        """A reused connection on which not one byte of this answer has come."""
        flight = self.flight
        return flight is not None and self.requests > 1 and flight.reads.empty and not flight.resent

    def _open(self) -> None:
        sock = socket.socket(self._target.family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):
            # Reads carry the time of the read where the kernel gives no stamps.
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._sock = sock
        self.fd = sock.fileno()
        self.receive = sock.recvmsg
        self.requests = 0
        self._connect_error = sock.connect_ex(self._target.place)

    def _refused(self, tls: TlsBox, error: ssl.SSLError) -> Ending:
        problem = tls_problem(error)
        if problem not in self._target.notes:
            self._target.notes.append(problem)
        if self._sock is not None:
            with suppress(OSError):
                self._sock.send(tls.last_words())
        return "refused"

    def _after_records(self, tls: TlsBox) -> Ending | None:
        flight = self.flight
        if tls.secured and flight is not None and not flight.written_ns and not self.requests:
            return self._send_request(flight)
        return self._flush()

    def _send_request(self, flight: Flight) -> Ending | None:
        self.requests += 1
        flight.request_number = self.requests
        raw = self._tls.encrypt(flight.request) if self._tls else flight.request
        self._unsent = memoryview(bytes(self._unsent) + raw) if self._unsent else memoryview(raw)
        return self._flush()

    def _flush(self) -> Ending | None:
        assert self._sock is not None
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except BlockingIOError:
            return None
        except OSError as error:
            # An early answer may stand on the reading side; the loop reads before it believes.
            self._unsent = memoryview(b"")
            return ending_of(error)
        flight = self.flight
        if flight is not None and self.requests and not flight.written_ns:
            flight.written_ns = time.monotonic_ns()
        return None


def _not_open(bytes_max: int, ancillary_bytes_max: int) -> NoReturn:
    raise OSError(errno.ENOTCONN, "not open")
