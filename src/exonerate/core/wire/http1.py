"""A reader of one HTTP/1.1 answer: bytes in, parts out, whatever the peer sends.

Rules
-----
1. `feed` takes bytes cut anywhere and returns the parts that are now known, in order. It never
   raises for what the peer sent: a breach of RFC 9112 becomes a `Broken` part, after which
   nothing more is read.
2. Every buffer is bounded: the head and the trailers by `HEAD_BYTES_MAX`, a chunk-size line by
   `SIZE_LINE_BYTES_MAX`. Body bytes are handed on and not kept.
3. Interim answers (1xx) are counted and skipped (RFC 9110, 15.2); 101 is refused, for nobody
   asked for an upgrade.

The reader is ours, and not a library's, because a diagnosis needs to know *which* rule a hop broke
and at which read; h11 is the oracle in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

HEAD_BYTES_MAX = 64 * 1024
SIZE_LINE_BYTES_MAX = 4096
INTERIM_ANSWERS_MAX = 32

Framing: TypeAlias = Literal["chunked", "length", "close", "none", "end-stream"]
"""How a body ends; the last one is HTTP/2's."""
Headers: TypeAlias = tuple[tuple[str, str], ...]

_STATUS_LINE = re.compile(rb"HTTP/(\d\.\d) (\d{3})(?: [^\r\n]*)?")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_FIELD_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HTTP2_SETTINGS = b"\x04\0\0\0\0\0"
"""What follows the length of the frame with which every HTTP/2 server begins (RFC 9113, 3.4)."""


@dataclass(frozen=True, slots=True)
class Head:
    """The final status line and header section."""

    status: int
    version: str
    headers: Headers
    framing: Framing

    def header(self, name: str) -> str | None:
        """The values of a header joined by commas, or None; `name` is lower-case."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


@dataclass(frozen=True, slots=True)
class Data:
    """Body bytes, without their framing."""

    content: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The end that the framing promised; `excess` bytes followed it unasked."""

    excess: int = 0


@dataclass(frozen=True, slots=True)
class Broken:
    """The peer broke the protocol; `why` is one of a closed list of names."""

    why: str


Part: TypeAlias = Head | Data | End | Broken


class ResponseReader:
    """Reads one answer; see the module's rules."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        # Steps are functions, not bound methods: a reader that holds itself would be garbage that
        # only the collector frees, and the load worker runs without one.
        self._step: _Step = ResponseReader._read_head
        self._left = 0
        self._after_chunk = False
        self._searched = 0
        self.interim_answers = 0
        self.head: Head | None = None
        self.finished = False

    @property
    def answering(self) -> bool:
        """Bytes have come that belong to no complete interim answer."""
        return self.head is not None or self.finished or bool(self._buffer)

    def feed(self, received: bytes) -> list[Part]:
        """The parts that these bytes complete."""
        parts: list[Part] = []
        if self.finished:
            if received:
                parts.append(End(excess=len(received)))
            return parts
        self._buffer += received
        while not self.finished and self._step(self, parts):
            pass
        if self.finished:
            self._buffer.clear()
        return parts

    def feed_eof(self) -> list[Part]:
        """The peer sent FIN: the regular end of a close-delimited body, else nothing."""
        if self.finished or self.head is None or self.head.framing != "close":
            return []
        self.finished = True
        return [End()]

    def _broken(self, parts: list[Part], why: str) -> bool:
        parts.append(Broken(why))
        self.finished = True
        return False

    def _end(self, parts: list[Part]) -> bool:
        parts.append(End(excess=len(self._buffer)))
        self.finished = True
        return False

    # The head.

    def _read_head(self, parts: list[Part]) -> bool:
        buffer = self._buffer
        if buffer.startswith((b"\r", b"\n")):
            # An empty line before the status line is tolerated (RFC 9112, 2.2).
            del buffer[: 1 if buffer[:1] == b"\n" or len(buffer) == 1 else 2]
            return bool(buffer)
        if buffer[:5] != b"HTTP/"[: len(buffer[:5])]:
            return self._not_http1(parts)
        end = _HEAD_END.search(buffer, max(0, self._searched - 3))
        if end is None or end.start() > HEAD_BYTES_MAX:
            self._searched = len(buffer)
            too_long = len(buffer) > HEAD_BYTES_MAX
            return self._broken(parts, "head-too-long") if too_long else False
        lines = bytes(buffer[: end.start()]).split(b"\n")
        del buffer[: end.end()]
        self._searched = 0
        return self._accept_head(parts, [line.removesuffix(b"\r") for line in lines])

    def _not_http1(self, parts: list[Part]) -> bool:
        begun = self._buffer[3:9]
        if self._buffer[:1] != b"\0" or not _HTTP2_SETTINGS.startswith(begun):
            return self._broken(parts, "not-http")
        return self._broken(parts, "speaks-http2") if begun == _HTTP2_SETTINGS else False

    def _accept_head(self, parts: list[Part], lines: list[bytes]) -> bool:
        status_line = _STATUS_LINE.fullmatch(lines[0])
        if status_line is None:
            return self._broken(parts, "bad-status-line")
        status = int(status_line[2])
        if status == 101:
            return self._broken(parts, "unasked-upgrade")
        if 100 <= status < 200:
            self.interim_answers += 1
            if self.interim_answers > INTERIM_ANSWERS_MAX:
                return self._broken(parts, "endless-interim-answers")
            return bool(self._buffer)
        headers = parse_headers(lines[1:])
        if headers is None:
            return self._broken(parts, "bad-header")
        framing, length = _framing(status, headers)
        if length < 0:
            return self._broken(parts, "bad-content-length")
        self.head = Head(status, status_line[1].decode(), headers, framing)
        parts.append(self.head)
        self._left = length
        return self._begin_body(parts)

    def _begin_body(self, parts: list[Part]) -> bool:
        assert self.head is not None
        match self.head.framing:
            case "none":
                return self._end(parts)
            case "length":
                self._step = ResponseReader._read_length
                return True
            case "chunked":
                self._step = ResponseReader._read_chunk_size
            case "close":
                self._step = ResponseReader._read_until_close
        return bool(self._buffer)

    # The body.

    def _read_length(self, parts: list[Part]) -> bool:
        self._take(parts)
        return self._end(parts) if self._left == 0 else False

    def _read_until_close(self, parts: list[Part]) -> bool:
        parts.append(Data(bytes(self._buffer)))
        self._buffer.clear()
        return False

    def _read_chunk_size(self, parts: list[Part]) -> bool:
        end = self._buffer.find(b"\n", 0, SIZE_LINE_BYTES_MAX)
        if end < 0:
            too_long = len(self._buffer) >= SIZE_LINE_BYTES_MAX
            return self._broken(parts, "endless-chunk-size") if too_long else False
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            return self._broken(parts, "bad-chunk-size")
        self._left = int(size[1], 16)
        self._step = ResponseReader._read_chunk if self._left else ResponseReader._read_trailers
        return bool(self._buffer)

    def _read_chunk(self, parts: list[Part]) -> bool:
        self._take(parts)
        if self._left:
            return False
        self._step = ResponseReader._read_chunk_end
        return bool(self._buffer)

    def _read_chunk_end(self, parts: list[Part]) -> bool:
        if self._buffer == b"\r":
            return False
        if self._buffer[:1] != b"\n" and self._buffer[:2] != b"\r\n":
            return self._broken(parts, "bad-chunk-end")
        del self._buffer[: 1 if self._buffer[:1] == b"\n" else 2]
        self._step = ResponseReader._read_chunk_size
        return bool(self._buffer)

    def _read_trailers(self, parts: list[Part]) -> bool:
        end = self._buffer.find(b"\n")
        if end < 0:
            too_long = len(self._buffer) > HEAD_BYTES_MAX
            return self._broken(parts, "trailers-too-long") if too_long else False
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        self._searched += end + 1
        if not line:
            return self._end(parts)
        if self._searched > HEAD_BYTES_MAX:
            return self._broken(parts, "trailers-too-long")
        return bool(self._buffer)

    def _take(self, parts: list[Part]) -> None:
        taken = bytes(self._buffer[: self._left])
        if taken:
            del self._buffer[: len(taken)]
            self._left -= len(taken)
            parts.append(Data(taken))


_Step: TypeAlias = Callable[[ResponseReader, list[Part]], bool]


def parse_headers(lines: list[bytes]) -> Headers | None:
    """Lower-case names and stripped values, or None where a line is no header field."""
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and headers:
            # Obsolete line folding: joined by a space (RFC 9112, 5.2).
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {line.strip().decode('latin-1')}")
            continue
        name_bytes, colon, value_bytes = line.partition(b":")
        if not colon or _FIELD_NAME.fullmatch(name_bytes) is None:
            return None
        headers.append((name_bytes.decode().lower(), value_bytes.strip().decode("latin-1")))
    return tuple(headers)


def _framing(status: int, headers: Headers) -> tuple[Framing, int]:
    """How the body ends (RFC 9112, 6.3) and its length; a length of -1 is a contradiction."""
    if status in (204, 304):
        return "none", 0
    encodings = [value.lower() for name, value in headers if name == "transfer-encoding"]
    if encodings:
        last = encodings[-1].rpartition(",")[2].strip()
        return ("chunked" if last == "chunked" else "close"), 0
    lengths = {
        piece.strip()
        for name, value in headers
        if name == "content-length"
        for piece in value.split(",")
    }
    if not lengths:
        return "close", 0
    text = lengths.pop()
    sound = not lengths and text.isascii() and text.isdigit() and len(text) < 16
    return "length", int(text) if sound else -1
