"""How requests and answers go over a connection: one after the other, in HTTP/1.1 or HTTP/2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from exonerate.adapters.request import Request
from exonerate.adapters.transport import Connection
from exonerate.core.wire.answer import PartReader
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.recorder import ExchangeRecorder

if TYPE_CHECKING:
    from exonerate.core.wire.http2 import Http2Answer


class Conversation(Protocol):
    """One connection and the version that is spoken on it."""

    @property
    def written_ns(self) -> int | None:
        """When the kernel took the last byte of the request."""

    @property
    def ending(self) -> tuple[Ending, str | None] | None:
        """How the hop ended the answer beside its framing, and what it said."""

    @property
    def last_words(self) -> str | None:
        """What the hop said of the connection before it closed it."""

    @property
    def held_up(self) -> str | None:
        """What of the protocol keeps the rest of the request from going out, in words."""

    def begin(self, request: Request) -> PartReader | None:
        """Send a request; returns what reads its answer, where that is not HTTP/1.1."""

    def keep_up(self) -> None:
        """Bytes of the hop were read: send what the protocol wants for them."""

    def idle(self) -> int:
        """Look at what came while nothing was asked; returns how many bytes nobody asked for."""

    @property
    def over(self) -> bool:
        """No further request may be sent."""

    def reusable(self, recorder: ExchangeRecorder) -> bool:
        """The connection may carry another request after the one that was recorded."""


class Http1Conversation:
    """HTTP/1.1 (RFC 9112)."""

    ending = None
    last_words = None
    held_up = None
    over = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def written_ns(self) -> int | None:
        """When the kernel took the last byte of the request."""
        return self._connection.written_ns

    def begin(self, request: Request) -> None:
        """Send a request."""
        self._connection.send(request.content)

    def keep_up(self) -> None:
        """HTTP/1.1 wants nothing."""

    def idle(self) -> int:
        """Whatever comes unasked is a breach."""
        return sum(len(read.content) for read in self._connection.reads)

    def reusable(self, recorder: ExchangeRecorder) -> bool:
        """As the answer says."""
        return recorder.reusable


class Http2Conversation:
    """HTTP/2 (RFC 9113), one stream at a time; needs the extra `h2`."""

    def __init__(self, connection: Connection, scheme: str) -> None:
        from exonerate.core.wire.http2 import Http2Wire  # an extra

        self._connection = connection
        self._scheme = scheme
        self._wire = Http2Wire()
        self._written_ns: int | None = None
        self._answer: Http2Answer | None = None

    @property
    def written_ns(self) -> int | None:
        """When the kernel took the last byte of the request; later frames do not count."""
        if self._written_ns is None and self._wire.request_sent:
            self._written_ns = self._connection.written_ns
        return self._written_ns

    @property
    def ending(self) -> tuple[Ending, str | None] | None:
        """A stream that was reset or refused; a connection that goes away, in words."""
        answer = self._answer
        if answer is None or answer.ending is None:
            return None
        return answer.ending, answer.why

    @property
    def held_up(self) -> str | None:
        """That the hop's flow control lets no more of the body out."""
        return self._wire.held_up

    @property
    def last_words(self) -> str | None:
        """The GOAWAY of the hop, in words."""
        return self._wire.going_away

    @property
    def over(self) -> bool:
        """The hop goes away, or broke the protocol."""
        return self._wire.going_away is not None or self._wire.breach is not None

    def begin(self, request: Request) -> PartReader:
        """Send a request on the next stream, as far as the hop takes it."""
        fields = dict(request.fields)
        pseudo = (
            (":method", "POST"),
            (":scheme", self._scheme),
            (":authority", fields.get("host", "")),
            (":path", request.target),
        )
        self._written_ns = None
        self._answer = self._wire.request(pseudo, request.fields, request.body)
        self._connection.send(self._wire.outgoing())
        return self._answer

    def keep_up(self) -> None:
        """Acknowledge, and send on what a wider window lets out."""
        _ = self.written_ns
        if outgoing := self._wire.outgoing():
            self._connection.send_more(outgoing)

    def idle(self) -> int:
        """Settings, pings and windows may come at any time; a GOAWAY ends the connection."""
        while (read := self._connection.take_read()) is not None:
            self._wire.take(read.content)
        self.keep_up()
        return 0

    def reusable(self, recorder: ExchangeRecorder) -> bool:
        """A stream that the hop has reset leaves the connection as it was."""
        return not self.over and (recorder.reusable or self.ending is not None)


def conversation_on(connection: Connection, http: str, *, secure: bool) -> Conversation:
    """The conversation that the deployment wants, or that the TLS handshake chose."""
    if http == "2" or connection.protocol == "h2":
        return Http2Conversation(connection, "https" if secure else "http")
    return Http1Conversation(connection)
