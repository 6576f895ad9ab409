"""Digests the kept reads of one answer: which read brought which event, in bulk.

Theory of operation
-------------------
The load loop does no parsing while an answer comes: `KeptReads` takes, for each read, its bytes,
the kernel's stamp and the time at which the loop woke up. When the bytes look like the end,
the whole answer is read at once, by one of four ways, each slower and more general than the one
before; a way that finds the answer unlike what it expects answers None, and the next one is taken:

0. `trust_stream` (in `trusted_stream`): in a run whose first answers were proven to have text in
   each read, and whose server counts its tokens as we count events, as many tokens as reads that
   are too short for two events say that the next answer came one event a read.
1. `count_stream`: nearly every engine sends one event in a chunk of its own, in one JSON layout,
   and a paced stream comes read by read. Then counting three byte strings over the whole answer
   proves that every read between the first and the last few brought exactly one event of text.
2. `digest_stream`: the same for answers whose reads are cut anywhere. It also proves every chunk's
   size; a run uses it for its first answers. One in sixteen after that, and one in 64 of a long
   run, has its sizes proven too (`sizes_hold`), so that a hop that miscounts its chunks is found
   although ways 0 and 1 do not look at them.
3. The caller feeds the reads to an `AnswerReader`, which reads everything there is.

Events at the edges of an answer, and all that are not plainly text, go through the same
`ContentReader` as a probe's. Tests hold the ways against each other.

The quick rule: an event is text when it holds the bytes ``"content":"`` (or its siblings) and not
their empty form. Inside a JSON string the quotation marks would be escaped, so these bytes can
only be a key and the beginning of its value.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress, repeat
from operator import add

from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.http1 import Head
from exonerate.core.wire.kept_reads import KeptReads
from exonerate.core.wire.sse import SseEvent

EVENT_END = b"\n\n\r\n"
"""The end of an event that fills its chunk."""

LAST_CHUNK = b"\r\n0\r\n\r\n"

_MARKERS_OF_NAMES: tuple[tuple[bytes, tuple[bytes, ...]], ...] = tuple(
    (b'"%s":' % name, tuple(b'"%s":%s"' % (name, space) for space in (b"", b" ")))
    for name in (b"content", b"text", b"reasoning_content", b"reasoning")
)
_MARKERS: tuple[bytes, ...] = tuple(
    marker for _, markers in _MARKERS_OF_NAMES for marker in markers
)
DATA = b"\r\ndata: "
FIRST_EDGE, LAST_EDGE = 2, 4
_SIZE_LINE_BYTES_MAX = 5
"""Of the chunks in `_SIZES`, with its CRLF."""

_SIZES: dict[bytes, int] = {
    text: size for size in range(1, 4096) for text in (b"%x" % size, b"%X" % size)
}


@dataclass(frozen=True, slots=True)
class StreamDigest:
    """What the bulk look found.

    `read_of_event` names, for each meaningful event, the read that completed it; a range says
    that each came with a read of its own.
    """

    content: ContentFacts
    read_of_event: Sequence[int]


def is_quick(head: Head) -> bool:
    """The bulk look may be tried on an answer with this head."""
    coding = head.header("content-encoding")
    return (
        head.status == 200
        and head.framing == "chunked"
        and (head.header("content-type") or "").lower().startswith("text/event-stream")
        and (coding is None or coding.strip().lower() == "identity")
    )


def _counts_by_length(contents: list[bytes]) -> list[int]:
    """The events of each read, where only those that are longer than others may have several."""
    lengths = list(map(len, contents))
    usual = 3 * min(lengths, default=0) // 2
    return [
        content.count(EVENT_END) if length > usual else 1
        for content, length in zip(contents, lengths, strict=True)
    ]


def has_text(event: bytes, marker: bytes) -> bool:
    """By the quick rule."""
    return marker in event and marker + b'"' not in event


def marker_of(sample: bytes) -> bytes | None:
    """The one marker of text that these events use; None where there are several or none."""
    present = [
        marker
        for name, markers in _MARKERS_OF_NAMES
        if name in sample
        for marker in markers
        if marker in sample
    ]
    return present[0] if len(present) == 1 else None


# Way 1.


@dataclass(frozen=True, slots=True)
class _Edges:
    """The first and the last events of an answer, with the reads they came in."""

    first: int
    inner: range
    events: list[tuple[int, bytes]]
    marker: bytes
    is_text: list[bool]


def count_stream(reads: KeptReads, head_bytes: int, dialect: Dialect) -> StreamDigest | None:
    """Digest an answer by counting over all of it, or None where counting is not enough.

    All reads but the last are known to end with `EVENT_END`, or with the head.
    """
    edges = _edges(reads, head_bytes)
    if edges is None:
        return None
    reads.pack()
    reads.pack()
    blob, ends, inner = reads.blob, reads.ends, edges.inner
    events = blob.count(EVENT_END, head_bytes)
    nothing = edges.marker + b'"'
    text = blob.count(edges.marker, head_bytes) - blob.count(nothing, head_bytes)
    if text != events - edges.is_text.count(False) or text < 1:
        return None
    content = _edge_content(edges, text, dialect)
    if content is None:
        return None
    if events == len(edges.events) + len(inner):
        return StreamDigest(content, _joined(edges, [1] * len(inner)))
    counts = _counts_by_length(reads.contents()[inner.start : inner.stop])
    if sum(counts) != events - len(edges.events):
        counts = [blob.count(EVENT_END, ends[read - 1], ends[read]) for read in inner]
    return StreamDigest(content, _joined(edges, counts))


def sizes_hold(reads: KeptReads, head_bytes: int) -> bool:
    """Every read is one whole chunk with a right size, but for the head and those at the end.

    Reads of the same length that begin with the same bytes are looked at once. What is no
    chunk of its own at the end is cut into its chunks.
    """
    contents = reads.contents()
    del contents[0 : 1 if len(contents[0]) == head_bytes else 0]
    last = contents.pop() if contents else b""
    kinds = {(len(content), content[:_SIZE_LINE_BYTES_MAX]) for content in contents}
    if not all(_SIZES.get(line, -1) == length - len(line) - 4 for length, line in map(_cut, kinds)):
        return False
    parts = last.split(b"\r\n")
    chunks = zip(parts[0:-3:2], parts[1:-3:2], strict=False)
    return parts[-3:] == [b"0", b"", b""] and all(
        _SIZES.get(line) == len(content) for line, content in chunks
    )


def _cut(kind: tuple[int, bytes]) -> tuple[int, bytes]:
    """The length of a read and its size line."""
    length, beginning = kind
    return length, beginning.partition(b"\r\n")[0]


def _edges(reads: KeptReads, head_bytes: int) -> _Edges | None:
    """Cut off and sort the events at the edges; None where they are not of the usual kind."""
    number = reads.number()
    first = 1 if len(reads.piece(0)) == head_bytes else 0
    if number - first < FIRST_EDGE + LAST_EDGE:
        return None
    if not reads.piece(number - 1).endswith(LAST_CHUNK):
        return None
    inner = range(first + FIRST_EDGE, number - LAST_EDGE)
    events: list[tuple[int, bytes]] = []
    for read in (*range(first, inner.start), *range(inner.stop, number)):
        content = reads.piece(read) if read else reads.piece(0)[head_bytes:]
        events += [(read, piece) for piece in content.split(EVENT_END)[:-1]]
    marker = marker_of(b"".join([piece for _, piece in events]))
    if marker is None:
        return None
    is_text = [has_text(piece, marker) for _, piece in events]
    return _Edges(first, inner, events, marker, is_text)


def _edge_content(edges: _Edges, text: int, dialect: Dialect) -> ContentFacts | None:
    """The facts; None where the careful reader disagrees, of the texts with the first of them."""
    reader = ContentReader(dialect)
    read_text = 0
    for (_, piece), plain in zip(edges.events, edges.is_text, strict=True):
        if plain and read_text:
            continue
        data = piece.partition(DATA)[2]
        if not data or b"\n" in data or reader.event(SseEvent(data)) != plain:
            return None
        read_text += plain
    return reader.facts(unread_events=text - read_text)


def _joined(edges: _Edges, counts: list[int]) -> Sequence[int]:
    """The reads of the events of text at both edges and, `counts` of them, between."""
    inner = edges.inner
    found = [read for (read, _), plain in zip(edges.events, edges.is_text, strict=True) if plain]
    before = [read for read in found if read < inner.start]
    after = [read for read in found if read >= inner.stop]
    first = before[0] if before else inner.start
    last = after[-1] if after else inner.stop - 1
    total = len(found) + sum(counts)
    if total == last - first + 1 == len(set(found)) + len(inner):
        return range(first, last + 1)
    between = chain.from_iterable(map(repeat, inner, counts))
    return [*before, *between, *after]


# Way 2.


def digest_stream(reads: KeptReads, head_bytes: int, dialect: Dialect) -> StreamDigest | None:
    """Digest a whole chunked event stream, or None where the bulk look does not suffice."""
    reads.pack()
    reads.pack()
    body = bytes(reads.blob[head_bytes:])
    parts = body.split(b"\r\n")
    if parts[-3:] != [b"0", b"", b""] or len(parts) < 5 or len(parts) % 2 == 0:
        return None
    size_lines, events = parts[0:-3:2], parts[1:-3:2]
    lengths = list(map(len, events))
    if list(map(_SIZES.get, size_lines)) != lengths or not _one_event_each(body, len(events)):
        return None
    meaningful = _meaningful(events, body)
    content = _content(events, meaningful, dialect)
    if content is None:
        return None
    wire = map(add, map(len, size_lines), lengths)
    # A chunk on the wire is its size line, its content and two line ends; its event is over
    # before the second of them.
    ends = [end + 4 * number - 2 for number, end in enumerate(accumulate(wire, initial=head_bytes))]
    every_read = _read_of_each(ends[1:], reads.ends)
    return StreamDigest(content, list(compress(every_read, meaningful)))


def _one_event_each(body: bytes, number: int) -> bool:
    """Each of the chunks is one event of one `data` line and nothing else.

    CRLF stands only between the parts, so each `data: ` after one begins a chunk's content, and
    each LF LF before one ends it; the number of all LFs then leaves room for no other line.
    """
    return (
        body.count(DATA) == number
        and body.count(EVENT_END) == number
        and body.count(b"\n") == 4 * number + 2
    )


def _meaningful(events: list[bytes], body: bytes) -> list[bool]:
    """For each event, whether it is plainly one of text.

    The markers are taken from the first and the last events: an answer that only in its middle
    uses another one disagrees with the careful reader and is read piece by piece.
    """
    sample = b"".join(events[:LAST_EDGE] + events[-LAST_EDGE:])
    present = [marker for marker in _MARKERS if marker in sample]
    if not present:
        return [False] * len(events)
    meaningful = [present[0] in event for event in events]
    for marker in present[1:]:
        meaningful = [
            seen or marker in event for seen, event in zip(meaningful, events, strict=True)
        ]
    for nothing in [marker + b'"' for marker in present]:
        if nothing in body:
            # An event without text of this kind gets the careful look, whatever else it holds.
            meaningful = [
                seen and nothing not in event
                for seen, event in zip(meaningful, events, strict=True)
            ]
    return meaningful


def _content(events: list[bytes], meaningful: list[bool], dialect: Dialect) -> ContentFacts | None:
    """The facts, from every event that is not plain text and from the first that is.

    None where the careful reader disagrees with the quick rule.
    """
    plain = sum(meaningful)
    looked_at = [index for index, is_plain in enumerate(meaningful) if not is_plain]
    if plain:
        looked_at.append(meaningful.index(True))
        looked_at.sort()
    reader = ContentReader(dialect)
    for index in looked_at:
        if reader.event(SseEvent(events[index][6:-2])) != meaningful[index]:
            return None
    return reader.facts(unread_events=max(0, plain - 1))


def _read_of_each(event_ends: list[int], read_ends: array[int]) -> list[int]:
    """For each event, the index of the read that completed it."""
    found: list[int] = []
    read = 0
    for end in event_ends:
        while read_ends[read] < end:
            read += 1
        found.append(read)
    return found
