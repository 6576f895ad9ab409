"""Digests an answer by its edges alone, in a run whose answers were proven to be alike.

This is way 0 of `stream_digest`. Answers of one run end alike too: the events without text at
both edges (a role, the end, the count of tokens) differ by the answer's name and the time at which
it was begun, and by nothing else. `KnownEdges` remembers what the careful reader said of such
events, so that it reads them once and not once an answer.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.kept_reads import KeptReads
from exonerate.core.wire.read_times import EventsOfReads
from exonerate.core.wire.sse import SseEvent
from exonerate.core.wire.stream_digest import (
    DATA,
    EVENT_END,
    FIRST_EDGE,
    LAST_EDGE,
    StreamDigest,
    counts_by_length,
    has_text,
    marker_of,
)

_KNOWN_MAX = 256
_PLACEHOLDER = b"\0"
"""Stands in no JSON, where it would have to be escaped (RFC 8259, 7)."""


class KnownEdges:
    """What was read of the events without text of the answers of a run."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[bytes, ContentFacts | None] = {}

    def content(self, others: list[bytes]) -> ContentFacts | None:
        """The facts of an answer with these events and as many of text as its server counted.

        None where it did not count, and where the careful reader finds text in these events or
        something that is no plain event.
        """
        joined = EVENT_END.join(others)
        if _PLACEHOLDER in joined:
            return self._read(others)
        key = _nameless(joined)
        if key not in self._known:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[key] = self._read(others)
        return self._known[key]

    def _read(self, others: list[bytes]) -> ContentFacts | None:
        reader = ContentReader(self._dialect)
        for event in others:
            data = event.partition(DATA)[2]
            if not data or b"\n" in data or reader.event(SseEvent(data)):
                return None
        counted = reader.facts().completion_tokens
        return None if counted is None else reader.facts(unread_events=counted)


def trust_stream(reads: KeptReads, head_bytes: int, known: KnownEdges) -> StreamDigest | None:
    """Digest an answer by its edges alone, or None where its number of reads is not telling.

    All reads but the last are known to end with `EVENT_END`, or with the head, and each from the
    first to the last with text to bring at least one event of it: only for runs whose answers
    were proven to be so. Where the server counted as many tokens as there are such reads, each
    of them brought one; where it counted more, the longer ones tell which brought several.
    """
    ends = _ends(reads.contents(), head_bytes)
    content = None if ends is None else known.content(ends.others)
    if ends is None or content is None:
        return None
    read_of_event = _shares(ends, content.meaningful_events)
    # An event without text may still be a token to the server; it is none to us.
    nothing = ends.marker + b'"'
    seen = b"".join(ends.contents).count(nothing)
    if read_of_event is None or seen != sum([nothing in event for event in ends.others]):
        return None
    return StreamDigest(content, read_of_event)


class _Ends(NamedTuple):
    """An answer cut at its first and its last event of text."""

    contents: list[bytes]
    span: range
    """The reads with text."""
    texts_first: int
    texts_last: int
    others: list[bytes]
    """The events without text before and after."""
    marker: bytes


def _ends(contents: list[bytes], head_bytes: int) -> _Ends | None:
    number = len(contents)
    begin = 1 if len(contents[0]) == head_bytes else 0
    if number - begin < FIRST_EDGE + LAST_EDGE:
        return None
    front = contents[begin : begin + FIRST_EDGE]
    if not begin:
        front[0] = front[0][head_bytes:]
    back = contents[: -LAST_EDGE - 1 : -1]
    # Where text stands in a later read of the edge, the careful reader finds it among the others.
    marker = marker_of(b"".join([front[0], back[0], back[1]]))
    if marker is None:
        return None
    skipped, texts_first, before = _until_text(front, marker)
    left_out, texts_last, after = _until_text(back, marker)
    if not texts_first or not texts_last:
        return None
    span = range(begin + skipped, number - left_out)
    others = [*chain.from_iterable(before), *chain.from_iterable(reversed(after))]
    return _Ends(contents, span, texts_first, texts_last, others, marker)


def _shares(ends: _Ends, text: int) -> range | EventsOfReads | None:
    """Which read brought which of so many events of text; None where their lengths do not tell."""
    span = ends.span
    if ends.texts_first == ends.texts_last == 1 and text == len(span):
        return span
    inner = counts_by_length(ends.contents[span.start + 1 : span.stop - 1])
    counts = [ends.texts_first, *inner, ends.texts_last]
    sound = sum(counts) == text and len(counts) == len(span)
    return EventsOfReads(span, counts) if sound else None


def _until_text(contents: list[bytes], marker: bytes) -> tuple[int, int, list[list[bytes]]]:
    """The reads before the first with text, how many such events that has, and all other events.

    There are none where no read has text; the other events come read by read.
    """
    others: list[list[bytes]] = []
    for number, content in enumerate(contents):
        events = content.split(EVENT_END)[:-1]
        rest = [event for event in events if not has_text(event, marker)]
        others.append(rest)
        if len(rest) != len(events):
            return number, len(events) - len(rest), others
    return 0, 0, others


def _nameless(others: bytes) -> bytes:
    """The same without the answer's name and the time at which it was begun.

    They are left where they are not plain, so that what is read of equal bytes is equal too.
    """
    for key, end in ((b'"id":"', b'"'), (b'"created":', b",")):
        begin = others.find(key)
        if begin < 0:
            continue
        stop = others.find(end, begin + len(key))
        value = others[begin + len(key) : stop]
        plain = value.translate(None, b"-_") if end == b'"' else value
        if plain.isalnum() and value[:1] != b"0" and (end == b'"' or value.isdigit()):
            others = others.replace(key + value + end, key + _PLACEHOLDER)
    return others
