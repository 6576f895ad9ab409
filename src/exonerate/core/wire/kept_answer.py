"""One answer of a load run: keeps its reads while it comes, and reads it when it is over.

See `stream_digest` for why. `LoadAnswer` decides, when the head is known, whether the bulk look may
be tried at the end (`quick`); any other answer is read piece by piece as it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.wire.answer import AnswerReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.http1 import Head, ResponseReader
from exonerate.core.wire.kept_reads import KeptReads
from exonerate.core.wire.stream_digest import (
    EVENT_END,
    LAST_CHUNK,
    StreamDigest,
    count_stream,
    digest_stream,
    is_quick,
    sizes_hold,
)
from exonerate.core.wire.trusted_stream import KnownEdges, trust_stream

Turn: TypeAlias = Literal["first", "thorough", "usual"]

KEPT_BYTES_MAX = 1024 * 1024
"""An answer with more kept bytes than this is read piece by piece from then on."""

_HEADS_REMEMBERED = 64
_THOROUGH_FIRST = 16
_THOROUGH_EVERY, _THOROUGH_LATER_EVERY = 16, 64
_LATER_FROM = 512
"""So many answers of a run are enough to look less often whether they are still alike."""
_PROVEN_MIN = 8


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What an answer was, whichever way it was read."""

    status: int | None
    body_complete: bool
    broken: str | None
    content: ContentFacts
    read_of_event: Sequence[int]


class RunMemory:
    """What the answers of a run share: heads that repeat, and whose turn a thorough look is."""

    def __init__(self) -> None:
        self._heads: dict[bytes, Head | None] = {}
        self._edges: dict[Dialect, KnownEdges] = {}
        self._answers = 0
        self._proven = 0

    def quick_head(self, head_bytes: bytes) -> Head | None:
        """The head, where it is one final head of an answer that the bulk look may be tried on."""
        if head_bytes in self._heads:
            return self._heads[head_bytes]
        if len(self._heads) >= _HEADS_REMEMBERED:
            self._heads.clear()
        reader = ResponseReader()
        reader.feed(head_bytes)
        head = reader.head if reader.interim_answers == 0 else None
        self._heads[head_bytes] = head if head is not None and is_quick(head) else None
        return self._heads[head_bytes]

    def edges(self, dialect: Dialect) -> KnownEdges:
        """What was read of the edges of answers of this dialect."""
        if dialect not in self._edges:
            self._edges[dialect] = KnownEdges(dialect)
        return self._edges[dialect]

    def next_turn(self) -> Turn:
        """How thoroughly the next answer is to be looked at; all but `usual` prove chunk sizes."""
        self._answers += 1
        if self._answers <= _THOROUGH_FIRST:
            return "first"
        every = _THOROUGH_EVERY if self._answers < _LATER_FROM else _THOROUGH_LATER_EVERY
        return "thorough" if self._answers % every == 0 else "usual"

    @property
    def trusted(self) -> bool:
        """The last answers that were proven had text in each read, as many events as tokens."""
        return self._proven >= _PROVEN_MIN

    def proved(self, digest: StreamDigest | None) -> None:
        """An answer was looked at thoroughly; one that is unlike the others ends the trust."""
        found = [] if digest is None else digest.read_of_event
        in_each = len(found) > 0 and len(set(found)) == found[-1] - found[0] + 1
        counted = digest is not None and digest.content.completion_tokens == len(found)
        self._proven = self._proven + 1 if in_each and counted else 0


class LoadAnswer:
    """Takes the reads of one answer.

    While it is `quick`, the loop keeps reads unseen and calls `look` with all of them when one is
    out of the ordinary. Once it is `careful`, each new read goes to `feed`, and the bytes that
    were read need not be kept any longer.
    """

    def __init__(self, dialect: Dialect, memory: RunMemory) -> None:
        self._dialect = dialect
        self._memory = memory
        self._head: Head | None = None
        self._head_bytes = 0
        self._reader: AnswerReader | None = None
        self._digest: StreamDigest | None = None
        self._read_of_event: list[int] = []
        self._seen = 0
        self._ragged = False
        self.quick = False
        self.finished = False

    @property
    def careful(self) -> bool:
        """Every read is read as it comes."""
        return self._reader is not None

    def look(self, reads: KeptReads) -> None:
        """Look at every read so far: is the head there, is this the end?"""
        assert self._reader is None
        if self._head is None:
            self._look_for_head(reads)
        else:
            self._look_for_end(reads)

    def look_closer(self, reads: KeptReads) -> None:
        """Read piece by piece from now on."""
        assert self._reader is None
        self.quick = False
        self._reader = AnswerReader(self._dialect)
        for content in reads.contents():
            self.feed(content)
        reads.forget_bytes()

    def feed(self, content: bytes) -> None:
        """Take one more read of a careful answer."""
        assert self._reader is not None
        self._read_of_event.extend([self._seen] * self._reader.feed(content))
        self._seen += 1
        self.finished = self._reader.finished

    def eof(self) -> None:
        """The peer sent FIN on a careful answer."""
        assert self._reader is not None
        last = max(0, self._seen - 1)
        self._read_of_event.extend([last] * self._reader.feed_eof())

    @property
    def unread(self) -> str | None:
        """Why the body could not be read, where its coding is one that we do not know."""
        return self._reader.unread if self._reader is not None else None

    @property
    def reusable(self) -> bool:
        """The connection may carry another request."""
        if self._reader is not None:
            return self._reader.reusable
        head = self._head
        return head is not None and "close" not in (head.header("connection") or "").lower()

    def settle(self, reads: KeptReads) -> None:
        """Digest a finished answer; the loop does this when it has nothing to read."""
        if self._reader is None:
            self._digest = self._digested(reads)
            if self._digest is None:
                self.look_closer(reads)

    def facts(self) -> AnswerFacts:
        """What the answer was; it must be careful or settled."""
        if self._digest is not None and self._head is not None:
            return self._quick_facts(self._digest, self._head)
        reader = self._reader
        assert reader is not None
        return AnswerFacts(
            status=reader.head.status if reader.head else None,
            body_complete=reader.body_complete,
            broken=reader.broken,
            content=reader.facts(),
            read_of_event=self._read_of_event,
        )

    def _quick_facts(self, digest: StreamDigest, head: Head) -> AnswerFacts:
        return AnswerFacts(
            status=head.status,
            body_complete=True,
            broken=None,
            content=digest.content,
            read_of_event=digest.read_of_event,
        )

    def _look_for_head(self, reads: KeptReads) -> None:
        seen = reads.whole()
        end = seen.find(b"\r\n\r\n") + 4
        head = self._memory.quick_head(seen[:end]) if end >= 4 else None
        if head is None:
            self.look_closer(reads)
            return
        self._head, self._head_bytes = head, end
        self.quick = True
        if len(seen) > end:
            self._look_for_end(reads)

    def _look_for_end(self, reads: KeptReads) -> None:
        tail = reads.piece(reads.number() - 1)
        if len(tail) < len(LAST_CHUNK):
            tail = reads.whole()[-len(LAST_CHUNK) :]
        if tail.endswith(LAST_CHUNK):
            self.finished = True
        elif not tail.endswith(EVENT_END):
            self._ragged = True
            if tail.endswith(b"\r\n\r\n"):
                # An end with trailers, or events whose lines end in CRLF.
                self.look_closer(reads)

    def _digested(self, reads: KeptReads) -> StreamDigest | None:
        memory = self._memory
        turn = memory.next_turn()
        digest = None
        if turn != "first" and not self._ragged:
            if turn == "usual" and memory.trusted:
                digest = trust_stream(reads, self._head_bytes, memory.edges(self._dialect))
            elif turn == "usual" or sizes_hold(reads, self._head_bytes):
                digest = count_stream(reads, self._head_bytes, self._dialect)
        if digest is None:
            digest = digest_stream(reads, self._head_bytes, self._dialect)
        if turn != "usual":
            memory.proved(digest)
        return digest
