"""Server-sent events: body bytes in, events out.

Follows the event-stream format of the HTML standard (section 9.2.6): lines end in LF, CR or CRLF,
a byte order mark is dropped, `data` lines join by LF, a line that begins with a colon is a
comment. Where the standard discards an event that no blank line ended, `finish` hands it out:
several engines end their stream without one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

EVENT_BYTES_MAX = 4 * 1024 * 1024
"""A longer event is counted in `oversized` and not kept."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_CHUNK_SIZE_LINE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: the joined data and the event name (empty where none was given)."""

    data: bytes
    name: bytes = b""


class EventReader:
    """Cuts a body into events; lines may be split anywhere between two calls of `feed`."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._name = b""
        self._size = 0
        self._skip_line_feed = False
        self._first_line = True
        self._overflowing = False
        self._line_dropped = False
        self.comments = 0
        self.oversized = 0
        self.chunk_size_lines = 0
        """Lines that are a bare hexadecimal number: the framing of a hop that leaked."""

    def feed(self, body: bytes) -> list[SseEvent]:
        """The events that these bytes complete."""
        if not body:
            return []
        if self._skip_line_feed and body[:1] == b"\n":
            body = body[1:]
        self._skip_line_feed = body[-1:] == b"\r"
        events: list[SseEvent] = []
        lines = _LINE_END.split(body)
        for ended in lines[:-1]:
            self._keep(ended)
            self._end_line(events)
        self._keep(lines[-1])
        return events

    def finish(self) -> list[SseEvent]:
        """The event that the end of the body cut off before its blank line, if there is one."""
        events: list[SseEvent] = []
        if self._line or self._line_dropped:
            self._end_line(events)
        self._dispatch(events)
        return events

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if piece and self._size > EVENT_BYTES_MAX:
            self._overflowing = self._line_dropped = True
            self._line.clear()
            self._data.clear()
        else:
            self._line += piece

    def _end_line(self, events: list[SseEvent]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._line_dropped:
            # What is left of an overlong line is not the blank line that ends an event.
            self._line_dropped = False
            return
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line:
            self._field(line)
        else:
            self._dispatch(events)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value
        elif not name:
            self.comments += 1
            self._size -= len(line)
        elif _CHUNK_SIZE_LINE.fullmatch(line):
            self.chunk_size_lines += 1

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._overflowing:
            self.oversized += 1
        elif self._data:
            events.append(SseEvent(b"\n".join(self._data), self._name))
        self._data.clear()
        self._name = b""
        self._size = 0
        self._overflowing = False
