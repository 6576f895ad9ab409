"""Folds the stamped happenings of one exchange into an `Exchange`.

The adapter calls one method for each thing that happened, in order; nothing here reads a clock or
a socket, so a test plays an exchange by calling the same methods.
"""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.instant import NS_PER_MS, seconds_between
from exonerate.core.wire.answer import AnswerReader, PartReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.end_codes import Circumstances, Ending, end_code
from exonerate.core.wire.exchange import ConnectionFacts, Exchange, GivenUp, StampSource

KEPT_HEADERS = frozenset(
    {
        "content-type", "content-length", "content-encoding", "transfer-encoding", "connection",
        "keep-alive", "server", "via", "x-request-id", "retry-after", "x-accel-buffering",
        "cache-control", "date", "age", "location", "x-served-by", "proxy-status",
    }
)  # fmt: skip
"""The answer headers that may be kept; all others could hold a secret."""

HEADER_CHARACTERS_MAX = 200
ARRIVALS_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Read:
    """One read: its bytes, when their newest came, and when we read them.

    `earliest_ns` is the last moment at which nothing was there to read.
    """

    content: bytes
    stamp_ns: int
    read_ns: int
    earliest_ns: int
    source: StampSource


class ExchangeRecorder:
    """Takes what happens to one exchange and makes its record."""

    def __init__(self, *, session: str, hop: str, round_number: int, dialect: Dialect) -> None:
        self._session = session
        self._hop = hop
        self.round_number = round_number
        self._dialect = dialect
        self._answer = AnswerReader(dialect)
        self.request_id = ""
        self.secure = False
        """The connection is ready only when its TLS handshake has ended."""
        self.request_bytes = 0
        self.body_sent_bytes = 0
        self.begun_ns = 0
        self.resolved_ns: int | None = None
        self.connected_ns: int | None = None
        self.secured_ns: int | None = None
        self.written_ns: int | None = None
        self.connection: ConnectionFacts | None = None
        self._first_byte_ns: int | None = None
        self._first_token_ns: int | None = None
        self._last_byte_ns: int | None = None
        self._last_progress_ns = 0
        self._arrivals_ms: list[float] = []
        self._censored = 0
        self._interim = 0
        self._reads = 0
        self._lateness_ns = 0
        self._source: StampSource = "read"

    @property
    def token_seen(self) -> bool:
        """A meaningful event has come."""
        return self._first_token_ns is not None

    @property
    def finished(self) -> bool:
        """The answer is over as far as its bytes say."""
        return self._answer.finished

    @property
    def broken(self) -> str | None:
        """The rule that the peer broke, or None."""
        return self._answer.broken

    @property
    def done_said(self) -> bool:
        """The content has said that it is over, whatever the framing says."""
        return self._answer.done_said

    @property
    def answering(self) -> bool:
        """Bytes of the answer have come."""
        return self._first_byte_ns is not None

    @property
    def last_progress_ns(self) -> int:
        """When the last meaningful event came; when the exchange began if none did."""
        return self._last_progress_ns or self.begun_ns

    @property
    def reusable(self) -> bool:
        """The connection may carry another request."""
        return self._answer.reusable and self.written_ns is not None

    def expect(self, http: PartReader) -> None:
        """The answer will come in another version of HTTP; to be said before any byte came."""
        self._answer = AnswerReader(self._dialect, http)

    def read(self, read: Read) -> None:
        """Bytes came."""
        self._reads += 1
        self._last_byte_ns = read.stamp_ns
        self._lateness_ns = max(self._lateness_ns, read.read_ns - read.stamp_ns)
        self._source = read.source
        meaningful = self._answer.feed(read.content)
        if self._answer.interim_answers > self._interim:
            self._interim = self._answer.interim_answers
            self._first_byte_ns = None
        if self._first_byte_ns is None and self._answer.answering:
            self._first_byte_ns = read.stamp_ns
        self._arrived(meaningful, read.stamp_ns)

    def unread_since(self, at_ns: int) -> None:
        """Bytes had come until then and were not looked at when the exchange was given up."""
        self._last_byte_ns = max(at_ns, self._last_byte_ns or at_ns)

    def eof(self, at_ns: int) -> None:
        """The peer sent FIN."""
        self._arrived(self._answer.feed_eof(), at_ns)

    def ended(
        self,
        ending: Ending,
        at_ns: int,
        *,
        given_up: GivenUp = "no",
        error: str | None = None,
        fin_seen: bool = False,
    ) -> Exchange:
        """The exchange is over; its record."""
        assert self.connection is not None
        return Exchange(
            session=self._session,
            hop=self._hop,
            round=self.round_number,
            connection=self.connection,
            request_bytes=self.request_bytes,
            body_sent_bytes=self.body_sent_bytes,
            begun_ns=self.begun_ns,
            resolved_ns=self.resolved_ns,
            connected_ns=self.connected_ns,
            secured_ns=self.secured_ns,
            written_ns=self.written_ns,
            first_byte_ns=self._first_byte_ns,
            interim_answers=self._answer.interim_answers,
            first_token_ns=self._first_token_ns,
            last_byte_ns=self._last_byte_ns,
            ended_ns=at_ns,
            arrivals_ms=tuple(self._arrivals_ms),
            censored_arrivals=self._censored,
            stamp_source=self._source,
            status=self._answer.head.status if self._answer.head else None,
            headers=self._kept_headers(),
            http_version=self._answer.head.version if self._answer.head else None,
            framing=self._answer.head.framing if self._answer.head else None,
            request_id=self.request_id,
            read_lateness_ms=self._lateness_ns / NS_PER_MS,
            reads=self._reads,
            body_bytes=self._answer.body_bytes,
            body_complete=self._answer.body_complete,
            content=self._answer.facts(),
            end=end_code(self._circumstances(ending, at_ns, fin_seen)),
            given_up=given_up,
            error=error or self._answer.broken or self._answer.unread,
        )

    def _arrived(self, meaningful: int, stamp_ns: int) -> None:
        if not meaningful:
            return
        self._first_token_ns = self._first_token_ns or stamp_ns
        self._last_progress_ns = stamp_ns
        room = max(0, ARRIVALS_MAX - len(self._arrivals_ms))
        arrival_ms = (stamp_ns - self.begun_ns) / NS_PER_MS
        self._arrivals_ms.extend([arrival_ms] * min(meaningful, room))
        self._censored += meaningful - 1

    def _kept_headers(self) -> dict[str, str]:
        head = self._answer.head
        if head is None:
            return {}
        kept = {name: head.header(name) or "" for name, _ in head.headers if name in KEPT_HEADERS}
        return {name: value[:HEADER_CHARACTERS_MAX] for name, value in kept.items()}

    def _circumstances(self, ending: Ending, at_ns: int, fin_seen: bool) -> Circumstances:
        assert self.connection is not None
        last_ns = self._last_byte_ns or self.begun_ns
        reused = self.connection.request_number > 1
        ready_ns = self.secured_ns if self.secure else self.connected_ns
        return Circumstances(
            ending=ending,
            connected=reused or ready_ns is not None,
            request_written=self.written_ns is not None,
            head_seen=self._answer.head is not None,
            done_said=self._answer.done_said,
            body_complete=self._answer.body_complete,
            status=self._answer.head.status if self._answer.head else None,
            silent_s=seconds_between(last_ns, at_ns),
            lasted_s=seconds_between(self.begun_ns, at_ns),
            fin_seen=fin_seen,
        )
