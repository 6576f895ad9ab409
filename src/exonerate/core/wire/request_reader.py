"""A reader of HTTP/1.1 requests as they cross a tap: bytes in, facts out, text never kept.

The body's framing is the same as an answer's, so that `ResponseReader` reads it; only the head is
another. A body is kept up to `BODY_BYTES_KEPT` until it is whole, to read a few fields of its JSON
(model, stream, limit); longer ones are counted and hashed.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import orjson

from exonerate.core.json_access import at, count_at, object_of, text_at
from exonerate.core.json_types import Json
from exonerate.core.wire.http1 import (
    HEAD_BYTES_MAX,
    Data,
    End,
    Framing,
    Head,
    Headers,
    Part,
    ResponseReader,
    parse_headers,
)
from exonerate.core.wire.request_ids import own_request_id

BODY_BYTES_KEPT = 8 * 1024 * 1024
_REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) (\S{1,8192}) HTTP/(\d\.\d)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_TLS_HANDSHAKE = b"\x16\x03"
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_HISTORIES = ("messages", "input")
_ASKING = (*_HISTORIES, "prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one request asked for, without the text of it."""

    method: str
    path: str
    """Without its query."""
    http_version: str
    framing: str
    user_agent: str | None = None
    head_bytes: int = 0
    body_bytes: int = 0
    prompt_sha256: str | None = None
    """Of the whole body; the ledger keeps it under its key only."""
    model: str | None = None
    stream: bool | None = None
    max_tokens: int | None = None
    messages: int | None = None
    tools: bool = False
    forwarded: bool = False
    """It came through another box: an absolute target, or a `via` or `x-forwarded-for` header."""
    request_id: str | None = None
    """The `x-request-id`, where it is one of ours."""


def asks_for_stream(body: Json) -> bool | None:
    """Whether the body of a request asks for a stream; None where it does not ask for anything.

    Every one of the APIs takes a request that does not say so as one for a whole answer.
    """
    stream = at(body, "stream")
    if isinstance(stream, bool):
        return stream
    return False if any(at(body, key) is not None for key in _ASKING) else None


class RequestReader(ResponseReader):
    """Reads one request; bytes that follow it are left in `rest`."""

    def __init__(self) -> None:
        super().__init__()
        self._step = _head_of_own_kind
        self.rest = b""
        self.broken: str | None = None
        self.complete = False
        self._method = self._target = self._version = ""
        self._headers: Headers = ()
        self._framing: Framing = "none"
        self._head_bytes = 0
        self._body_bytes = 0
        self._digest = hashlib.sha256()
        self._body: bytearray | None = bytearray()

    def take(self, received: bytes) -> bool:
        """Take the bytes of one read; returns whether the request is over."""
        for part in self.feed(received):
            if isinstance(part, Data):
                self._keep(part.content)
            elif isinstance(part, End):
                self.complete = True
        return self.finished

    @property
    def begun(self) -> bool:
        """Some of its bytes have come."""
        return bool(self._buffer) or self._head_bytes > 0 or self.finished

    @property
    def path(self) -> str:
        """The target without its query; empty until the head was read."""
        bare = self._target.partition("?")[0]
        return "/" + bare.split("/", 3)[-1] if "://" in bare else bare

    def asked(self) -> Asked:
        """The facts so far."""
        names = dict(self._headers)
        absolute = "://" in self._target
        body = self._json()
        history = next((value for key in _HISTORIES if (value := at(body, key))), None)
        limits = (count_at(body, name) for name in _LIMITS)
        return Asked(
            method=self._method,
            path=self.path,
            http_version=self._version,
            framing=self._framing,
            user_agent=(names.get("user-agent") or "")[:80] or None,
            head_bytes=self._head_bytes,
            body_bytes=self._body_bytes,
            prompt_sha256=self._digest.hexdigest() if self.complete and self._body_bytes else None,
            model=text_at(body, "model"),
            stream=asks_for_stream(body),
            max_tokens=next((limit for limit in limits if limit), None),
            messages=len(history) if isinstance(history, list) else None,
            tools=bool(at(body, "tools")),
            forwarded=absolute or "via" in names or "x-forwarded-for" in names,
            request_id=own_request_id(names.get("x-request-id")),
        )

    def _json(self) -> Json:
        if not self.complete or not self._body:
            return {}
        try:
            return object_of(orjson.loads(bytes(self._body)))
        except orjson.JSONDecodeError:
            return {}

    def _keep(self, content: bytes) -> None:
        self._body_bytes += len(content)
        self._digest.update(content)
        if self._body is not None:
            self._body += content
            if len(self._body) > BODY_BYTES_KEPT:
                self._body = None

    def _broken(self, parts: list[Part], why: str) -> bool:
        self.broken = why
        return super()._broken(parts, why)

    def _end(self, parts: list[Part]) -> bool:
        self.rest = bytes(self._buffer)
        return super()._end(parts)

    def _read_head(self, parts: list[Part]) -> bool:
        buffer = self._buffer
        if buffer.startswith((b"\r", b"\n")):
            # Empty lines before a request are to be ignored (RFC 9112, 2.2).
            del buffer[:1]
            return bool(buffer)
        if buffer.startswith(_TLS_HANDSHAKE):
            return self._broken(parts, "tls")
        end = _HEAD_END.search(buffer)
        if end is None:
            too_long = len(buffer) > HEAD_BYTES_MAX
            return self._broken(parts, "head-too-long") if too_long else False
        lines = [line.removesuffix(b"\r") for line in bytes(buffer[: end.start()]).split(b"\n")]
        self._head_bytes = end.end()
        del buffer[: end.end()]
        return self._accept_head(parts, lines)

    def _accept_head(self, parts: list[Part], lines: list[bytes]) -> bool:
        request_line = _REQUEST_LINE.fullmatch(lines[0])
        headers = parse_headers(lines[1:])
        if request_line is None or headers is None:
            return self._broken(parts, "not-http")
        self._method = request_line[1].decode()
        self._target = request_line[2].decode("latin-1")
        self._version = request_line[3].decode()
        self._headers = headers
        self._framing, length = _framing(headers)
        if length < 0:
            return self._broken(parts, "bad-content-length")
        self.head = Head(0, self._version, (), self._framing)
        self._left = length
        return self._begin_body(parts)


def _head_of_own_kind(reader: ResponseReader, parts: list[Part]) -> bool:
    """The base class names its own steps; the head is read by whatever the reader is."""
    return reader._read_head(parts)


def _framing(headers: Headers) -> tuple[Framing, int]:
    """How a request's body ends (RFC 9112, 6.3): without a length there is none."""
    names = dict(headers)
    if "transfer-encoding" in names:
        return "chunked", 0
    text = names.get("content-length", "0").strip()
    sound = text.isascii() and text.isdigit() and len(text) < 16
    length = int(text) if sound else -1
    return ("length" if length else "none"), length
