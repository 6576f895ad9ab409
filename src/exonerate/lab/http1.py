"""HTTP/1.1 framing for the lab's servers: where a message ends, without changing a byte of it.

The heads and bodies are read along with the bytes, so that whoever passes them on can pass on the
bytes as they came. RFC 9112 sections 6 (body length) and 7 (chunked) are what is implemented.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

HEAD_BYTES_MAX = 64 * 1024
LINE_BYTES_MAX = 8 * 1024
NO_BODY_STATUS = (204, 304)


class MalformedMessage(Exception):
    """The peer sent something that is not HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Head:
    """The start line and fields of a message, and the bytes they came in."""

    start: str
    fields: tuple[tuple[str, str], ...]
    raw: bytes

    def value(self, name: str) -> str | None:
        """The first value of a field, whatever the case of its name."""
        wanted = name.lower()
        return next((value for key, value in self.fields if key.lower() == wanted), None)

    def has_token(self, name: str, token: str) -> bool:
        """Whether a comma-separated field holds a token."""
        tokens = (self.value(name) or "").lower().split(",")
        return token in (part.strip() for part in tokens)

    @property
    def method(self) -> str:
        """The method of a request head."""
        return self.start.split(" ", 1)[0]

    @property
    def path(self) -> str:
        """The target of a request head."""
        parts = self.start.split(" ")
        return parts[1] if len(parts) > 1 else ""

    @property
    def status(self) -> int:
        """The status of a response head."""
        parts = self.start.split(" ")
        if len(parts) < 2 or not parts[1].isdigit():
            raise MalformedMessage(f"not a status line: {self.start[:80]!r}")
        return int(parts[1])

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return self.has_token("transfer-encoding", "chunked")

    @property
    def says_close(self) -> bool:
        """Whether the sender announces that it closes after this message."""
        return self.has_token("connection", "close")

    def with_field(self, name: str, value: str | None) -> Head:
        """The same head with a field replaced, or without it."""
        kept = [(key, old) for key, old in self.fields if key.lower() != name.lower()]
        if value is not None:
            kept.append((name, value))
        return make_head(self.start, tuple(kept))


def make_head(start: str, fields: tuple[tuple[str, str], ...]) -> Head:
    """A head from its parts."""
    lines = [start, *(f"{key}: {value}" for key, value in fields)]
    return Head(start, fields, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def take_head(buffer: bytearray) -> Head | None:
    """Remove a whole head from the front of the buffer, or return None until it is whole."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > HEAD_BYTES_MAX:
            raise MalformedMessage(f"no end of the head within {HEAD_BYTES_MAX} bytes")
        return None
    raw = bytes(buffer[: end + 4])
    del buffer[: end + 4]
    start, *lines = raw[:-4].decode("latin-1").lstrip("\r\n").split("\r\n")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise MalformedMessage(f"a field without a colon: {line[:80]!r}")
        fields.append((name.strip(), value.strip()))
    return Head(start, tuple(fields), raw)


class Body(Protocol):
    """Finds the end of a body and what it carries."""

    done: bool

    def feed(self, piece: bytes) -> tuple[bytes, int]:
        """The payload in the piece, and how many of its bytes belong to this body."""


class SizedBody:
    """A body of a known length."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.done = size == 0

    def feed(self, piece: bytes) -> tuple[bytes, int]:
        """Count down to the end."""
        used = min(self._left, len(piece))
        self._left -= used
        self.done = self._left == 0
        return piece[:used], used


class EndlessBody:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self.done = False

    def feed(self, piece: bytes) -> tuple[bytes, int]:
        """Everything belongs to it."""
        return piece, len(piece)


class ChunkedBody:
    """A body in chunks: a line with the size, the bytes, an empty line; then the trailers."""

    def __init__(self) -> None:
        self.done = False
        self._left = 0
        self._line = bytearray()
        self._expects = self._size_line

    def feed(self, piece: bytes) -> tuple[bytes, int]:
        """Walk through sizes, data and trailers as far as the piece goes."""
        payload = bytearray()
        used = 0
        while used < len(piece) and not self.done:
            if self._left:
                take = min(self._left, len(piece) - used)
                payload += piece[used : used + take]
                self._left -= take
                used += take
            else:
                used = self._take_line(piece, used)
        return bytes(payload), used

    def _take_line(self, piece: bytes, used: int) -> int:
        end = piece.find(b"\n", used)
        if end < 0:
            self._line += piece[used:]
            if len(self._line) > LINE_BYTES_MAX:
                raise MalformedMessage("a chunk-size line without an end")
            return len(piece)
        self._line += piece[used:end]
        line = bytes(self._line).rstrip(b"\r")
        self._line.clear()
        self._expects(line)
        return end + 1

    def _size_line(self, line: bytes) -> None:
        digits = line.split(b";")[0].strip()
        try:
            self._left = int(digits, 16)
        except ValueError as error:
            raise MalformedMessage(f"not a chunk size: {line[:40]!r}") from error
        self._expects = self._gap_line if self._left else self._trailer_line

    def _gap_line(self, line: bytes) -> None:
        if line:
            raise MalformedMessage(f"bytes behind a chunk: {line[:40]!r}")
        self._expects = self._size_line

    def _trailer_line(self, line: bytes) -> None:
        self.done = not line


def request_body(head: Head) -> Body:
    """How the body of a request ends."""
    if head.is_chunked:
        return ChunkedBody()
    return SizedBody(_length(head) or 0)


def response_body(head: Head, *, to_method: str) -> Body:
    """How the body of a response ends."""
    if to_method == "HEAD" or head.status in NO_BODY_STATUS or head.status // 100 == 1:
        return SizedBody(0)
    if head.is_chunked:
        return ChunkedBody()
    length = _length(head)
    return EndlessBody() if length is None else SizedBody(length)


def _length(head: Head) -> int | None:
    text = head.value("content-length")
    if text is None:
        return None
    if not text.isdigit():
        raise MalformedMessage(f"not a length: {text[:40]!r}")
    return int(text)


def chunk(payload: bytes) -> bytes:
    """One chunk; empty for no payload, because an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload) if payload else b""


LAST_CHUNK = b"0\r\n\r\n"
