"""Digests the kept reads of one answer: which read brought which event, in bulk.

Theory of operation
-------------------
The load loop does no parsing while an answer comes: it keeps, for each read, its bytes, the
kernel's ancillary data and the time at which the loop woke up. When the bytes look like the end,
`digest_stream` works on the whole answer at once. Nearly every engine sends one event in a chunk
of its own, in one JSON layout; then a few operations over all bytes (`split`, `count`, `in`)
prove the framing and find the meaningful events for a fraction of a microsecond each. Every event
that is not plainly one of text goes through the same `ContentReader` as a probe's.

Where anything is unlike that (several events in a chunk, CRLF, comments, trailers, another
dialect), it answers None, and the caller feeds the same reads to an `AnswerReader`: slower, and
the truth either way. A test holds the two against each other.

The quick rule: an event is text when it holds the bytes ``"content":"`` (or its siblings) and not
their empty form. Inside a JSON string the quotation marks would be escaped, so these bytes can
only be a key and the beginning of its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, compress
from operator import add

from exonerate.core.wire.content import ContentReader
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.exchange import ContentFacts
from exonerate.core.wire.http1 import Head
from exonerate.core.wire.sse import SseEvent

_MARKERS: tuple[bytes, ...] = tuple(
    b'"%s":%s"' % (name, space)
    for name in (b"content", b"text", b"reasoning_content", b"reasoning")
    for space in (b"", b" ")
)
_LAST_CHUNK = [b"0", b"", b""]
_SIZES: dict[bytes, int] = {
    text: size for size in range(1, 4096) for text in (b"%x" % size, b"%X" % size)
}


@dataclass(frozen=True, slots=True)
class StreamDigest:
    """What the bulk look found.

    `read_of_event` names, for each meaningful event, the read that completed it.
    """

    content: ContentFacts
    body_bytes: int
    read_of_event: list[int]


def digest_stream(
    blob: bytes, head_bytes: int, read_ends: list[int], dialect: Dialect
) -> StreamDigest | None:
    """Digest a whole chunked event stream, or None where the quick look does not suffice.

    Args:
        blob: every byte of the answer.
        head_bytes: how many of them are the head.
        read_ends: for each read, where its bytes end in `blob`.
        dialect: how the events are read.
    """
    body = blob[head_bytes:]
    parts = body.split(b"\r\n")
    if parts[-3:] != _LAST_CHUNK or len(parts) < 5 or len(parts) % 2 == 0:
        return None
    size_lines, events = parts[0:-3:2], parts[1:-3:2]
    lengths = list(map(len, events))
    if list(map(_SIZES.get, size_lines)) != lengths or not _one_event_each(body, len(events)):
        return None
    meaningful = _meaningful(events, body)
    content = _content(events, meaningful, dialect)
    if content is None:
        return None
    # A chunk on the wire is its size line, its content and two line ends.
    wire = map(add, map(len, size_lines), lengths)
    event_ends = [
        end + 4 * number for number, end in enumerate(accumulate(wire, initial=head_bytes))
    ]
    del event_ends[0]
    every_read = _read_of_each(event_ends, read_ends)
    return StreamDigest(
        content=content,
        body_bytes=sum(lengths),
        read_of_event=list(compress(every_read, meaningful)),
    )


def is_quick(head: Head) -> bool:
    """The bulk look may be tried on an answer with this head."""
    coding = head.header("content-encoding")
    return (
        head.status == 200
        and head.framing == "chunked"
        and (head.header("content-type") or "").lower().startswith("text/event-stream")
        and (coding is None or coding.strip().lower() == "identity")
    )


def _one_event_each(body: bytes, number: int) -> bool:
    """Each of the chunks is one event of one `data` line and nothing else.

    CRLF stands only between the parts, so each `data: ` after one begins a chunk's content, and
    each LF LF before one ends it; the number of all LFs then leaves room for no other line.
    """
    return (
        body.count(b"\r\ndata: ") == number
        and body.count(b"\n\n\r\n") == number
        and body.count(b"\n") == 4 * number + 2
    )


def _meaningful(events: list[bytes], body: bytes) -> list[bool]:
    """For each event, whether it is plainly one of text."""
    present = [marker for marker in _MARKERS if marker in body]
    empty = [marker + b'"' for marker in present if marker + b'"' in body]
    if len(present) == 1 and not empty:
        marker = present[0]
        return [marker in event for event in events]
    if len(present) == 1:
        marker, nothing = present[0], empty[0]
        return [marker in event and nothing not in event for event in events]
    return [False] * len(events)


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


def _read_of_each(event_ends: list[int], read_ends: list[int]) -> list[int]:
    """For each event, the index of the read that completed it."""
    skip = 0
    while skip < len(read_ends) and event_ends and read_ends[skip] < event_ends[0]:
        skip += 1
    paired = len(read_ends) - skip - 1
    if 0 < paired <= len(event_ends) and read_ends[skip:-1] == event_ends[:paired]:
        rest = len(event_ends) - paired
        return [*range(skip, skip + paired), *[len(read_ends) - 1] * rest]
    found: list[int] = []
    at = 0
    for end in event_ends:
        while read_ends[at] < end:
            at += 1
        found.append(at)
    return found
