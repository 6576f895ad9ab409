"""One answer, from raw reads to facts: HTTP framing, content coding, events, content.

`AnswerReader.feed` says how many meaningful events a read completed, so that whoever stamps the
reads can stamp the events. The text itself is not kept.
"""

from __future__ import annotations

from typing import Protocol

from exonerate.core.wire.coding import (
    PLAIN_BYTES_MAX,
    CodingError,
    Decoder,
    Identity,
    decoder_of,
    unreadable,
)
from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.http1 import Broken, Data, End, Head, Part, ResponseReader
from exonerate.core.wire.sse import EventReader, SseEvent

WHOLE_BODY_BYTES_MAX = 16 * 1024 * 1024
"""An unstreamed body beyond this is counted but not read."""


class PartReader(Protocol):
    """Reads the framing of one version of HTTP, for one answer."""

    interim_answers: int
    head: Head | None
    finished: bool

    @property
    def answering(self) -> bool:
        """Bytes of the answer that is not yet known to be an interim one have come."""

    def feed(self, received: bytes) -> list[Part]:
        """The parts that these bytes complete."""

    def feed_eof(self) -> list[Part]:
        """The parts that the peer's FIN completes."""


class AnswerReader:
    """Reads one answer of one dialect, over HTTP/1.1 unless another reader of parts is given."""

    def __init__(self, dialect: Dialect, http: PartReader | None = None) -> None:
        self._http = http or ResponseReader()
        self._content = ContentReader(dialect)
        self._events = EventReader()
        self._decoder: Decoder = Identity()
        self._streamed = False
        self._readable = True
        self._whole = bytearray()
        self._first_body = True
        self._plain_bytes_left = PLAIN_BYTES_MAX
        self.body_bytes = 0
        self.body_complete = False
        self.broken: str | None = None
        self.unread: str | None = None
        """Why the body could not be read, where its coding is one that we do not know."""
        self.excess_bytes = 0

    @property
    def head(self) -> Head | None:
        """The final head, once it was read."""
        return self._http.head

    @property
    def interim_answers(self) -> int:
        """How many 1xx answers came before the final one."""
        return self._http.interim_answers

    @property
    def answering(self) -> bool:
        """Bytes of the answer that is not yet known to be an interim one have come."""
        return self._http.answering

    @property
    def finished(self) -> bool:
        """Nothing more of this answer can come."""
        return self._http.finished

    @property
    def done_said(self) -> bool:
        """The content has said that it is over, whatever the framing says."""
        return self._content.done

    def feed(self, received: bytes) -> int:
        """Take the bytes of one read; returns how many meaningful events they completed."""
        return self._take(self._http.feed(received))

    def feed_eof(self) -> int:
        """The peer sent FIN; returns how many meaningful events that completed."""
        meaningful = self._take(self._http.feed_eof())
        return meaningful + sum(self._content.event(event) for event in self._events.finish())

    def facts(self) -> ContentFacts:
        """What the answer said so far."""
        if self._events.oversized:
            self._content.note("oversized-event")
        if self._events.chunk_size_lines:
            self._content.note("framing-in-body")
        return self._content.facts(comments=self._events.comments)

    @property
    def reusable(self) -> bool:
        """The connection may carry another request."""
        head = self._http.head
        if head is None or not self.body_complete or self.excess_bytes or self.broken:
            return False
        option = (head.header("connection") or "").lower()
        persistent = "close" not in option and (head.version != "1.0" or "keep-alive" in option)
        return persistent and head.framing != "close"

    def _take(self, parts: list[Part]) -> int:
        meaningful = 0
        for part in parts:
            match part:
                case Head():
                    self._begin(part)
                case Data(content):
                    meaningful += self._body(content)
                case End(excess):
                    meaningful += self._end(excess)
                case Broken(why):
                    self.broken = self.broken or why
        return meaningful

    def _begin(self, head: Head) -> None:
        content_type = (head.header("content-type") or "").lower()
        self._streamed = content_type.startswith("text/event-stream")
        if "html" in content_type:
            self._content.note("html-body")
        coding = head.header("content-encoding")
        decoder = decoder_of(coding)
        if decoder is None:
            self.unread = unreadable(coding or "")
            self._give_up_content("undecodable-coding")
        else:
            self._decoder = decoder

    def _body(self, content: bytes) -> int:
        self.body_bytes += len(content)
        if not self._readable:
            return 0
        meaningful = 0
        try:
            for plain in self._decoder.decode(content):
                meaningful += self._plain(plain)
                if not self._readable:
                    break
        except CodingError:
            self._give_up_content("invalid-coding")
        return meaningful

    def _plain(self, plain: bytes) -> int:
        if not isinstance(self._decoder, Identity):
            self._plain_bytes_left -= len(plain)
            if self._plain_bytes_left < 0:
                self._give_up_content("oversized-body")
                return 0
        if self._first_body and plain:
            self._first_body = False
            # Some hops send events under another type; some send a page instead of events.
            if not self._streamed and plain.lstrip()[:5] in (b"data:", b"event"):
                self._streamed = True
            if plain.lstrip()[:1] == b"<":
                self._content.note("html-body")
        if self._streamed:
            return sum(self._content.event(event) for event in self._events.feed(plain))
        if len(self._whole) + len(plain) <= WHOLE_BODY_BYTES_MAX:
            self._whole += plain
        else:
            self._give_up_content("oversized-body")
        return 0

    def _end(self, excess: int) -> int:
        self.excess_bytes += excess
        if excess:
            self._content.note("bytes-after-end")
        if self.body_complete:
            return 0
        self.body_complete = True
        if self._readable and not self._decoder.whole:
            self._content.note("cut-coding")
        late: list[SseEvent] = self._events.finish()
        meaningful = sum(self._content.event(event) for event in late)
        if not self._streamed and self._readable and self._is_completion():
            meaningful += self._content.whole(bytes(self._whole))
        self._whole.clear()
        return meaningful

    def _is_completion(self) -> bool:
        """An error page need not be JSON, so only a success is judged as an answer."""
        head = self._http.head
        return bool(self._whole) and head is not None and 200 <= head.status < 300

    def _give_up_content(self, defect: str) -> None:
        self._readable = False
        self._whole.clear()
        self._content.note(defect)
