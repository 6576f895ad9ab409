"""One answer of a load run: keeps its reads while it comes, and reads it when it is over.

See `kept_reads` for why. `LoadAnswer` decides, when the head is known, whether the bulk look may
be tried at the end (`quick`); any other answer is read piece by piece as it comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from exonerate.core.wire.answer import AnswerReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.http1 import Head, ResponseReader
from exonerate.core.wire.kept_reads import StreamDigest, digest_stream, is_quick

KEPT_BYTES_MAX = 1024 * 1024
"""An answer with more kept bytes than this is read piece by piece from then on."""

_HEADS_REMEMBERED = 64
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What an answer was, whichever way it was read."""

    status: int | None
    body_bytes: int
    body_complete: bool
    reusable: bool
    broken: str | None
    content: ContentFacts
    read_of_event: list[int]


class HeadMemory:
    """Parses the head of an answer, or remembers it: engines repeat theirs for a second."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head | None] = {}

    def parse(self, head_bytes: bytes) -> Head | None:
        """The final head, or None where these bytes are not just one."""
        if head_bytes in self._heads:
            return self._heads[head_bytes]
        if len(self._heads) >= _HEADS_REMEMBERED:
            self._heads.clear()
        reader = ResponseReader()
        reader.feed(head_bytes)
        head = reader.head if reader.interim_answers == 0 else None
        self._heads[head_bytes] = head
        return head


class LoadAnswer:
    """Takes the reads of one answer; `quick` says that the loop may keep them unseen."""

    def __init__(self, dialect: Dialect, heads: HeadMemory) -> None:
        self._dialect = dialect
        self._heads = heads
        self._head: Head | None = None
        self._head_bytes = 0
        self._reader: AnswerReader | None = None
        self._digest: StreamDigest | None = None
        self._read_of_event: list[int] = []
        self._seen = 0
        self.quick = False
        self.finished = False

    def look(self, contents: list[bytes]) -> None:
        """Look at what was kept: is the head there, is this the end?

        `contents` holds every read of this answer so far, the newest last.
        """
        if self._reader is not None:
            self._read_on(contents)
        elif self._head is None:
            self._look_for_head(contents)
        elif self.quick:
            self._look_for_end(contents)

    def look_closer(self, contents: list[bytes]) -> None:
        """Read piece by piece from now on."""
        self.quick = False
        self._reader = self._reader or AnswerReader(self._dialect)
        self._read_on(contents)

    def eof(self, contents: list[bytes]) -> None:
        """The peer sent FIN."""
        self.look_closer(contents)
        assert self._reader is not None
        last = max(0, len(contents) - 1)
        self._read_of_event.extend([last] * self._reader.feed_eof())

    def facts(self, contents: list[bytes]) -> AnswerFacts:
        """What the answer was; `contents` as for `look`."""
        if self._digest is not None and self._head is not None:
            return self._quick_facts(self._digest, self._head)
        self.look_closer(contents)
        reader = self._reader
        assert reader is not None
        return AnswerFacts(
            status=reader.head.status if reader.head else None,
            body_bytes=reader.body_bytes,
            body_complete=reader.body_complete,
            reusable=reader.reusable,
            broken=reader.broken,
            content=reader.facts(),
            read_of_event=self._read_of_event,
        )

    def _quick_facts(self, digest: StreamDigest, head: Head) -> AnswerFacts:
        return AnswerFacts(
            status=head.status,
            body_bytes=digest.body_bytes,
            body_complete=True,
            reusable="close" not in (head.header("connection") or "").lower(),
            broken=None,
            content=digest.content,
            read_of_event=digest.read_of_event,
        )

    def _look_for_head(self, contents: list[bytes]) -> None:
        received = contents[0] if len(contents) == 1 else b"".join(contents)
        end = received.find(b"\r\n\r\n")
        head = self._heads.parse(received[: end + 4]) if end >= 0 else None
        if head is None or not is_quick(head):
            self.look_closer(contents)
            return
        self._head, self._head_bytes = head, end + 4
        self.quick = True
        self._look_for_end(contents)

    def _look_for_end(self, contents: list[bytes]) -> None:
        tail = contents[-1][-7:]
        if len(tail) < 7 and len(contents) > 1:
            tail = b"".join(contents[-8:])[-7:]
        if tail == _LAST_CHUNK:
            blob = b"".join(contents)
            ends = list(accumulate(map(len, contents)))
            self._digest = digest_stream(blob, self._head_bytes, ends, self._dialect)
            self.finished = self._digest is not None
            if not self.finished:
                self.look_closer(contents)
        elif tail.endswith(b"\r\n\r\n") and sum(map(len, contents)) > self._head_bytes:
            # An end with trailers, or events whose lines end in CRLF.
            self.look_closer(contents)

    def _read_on(self, contents: list[bytes]) -> None:
        reader = self._reader
        assert reader is not None
        for index in range(self._seen, len(contents)):
            self._read_of_event.extend([index] * reader.feed(contents[index]))
            # The bytes were read; only their place in the order is still needed.
            contents[index] = b""
        self._seen = len(contents)
        self.finished = reader.finished
