"""HTTP/2 for a client with one request on its way at a time: bytes in, parts and bytes out.

Rules
-----
1. The frames' meaning, header compression and flow control are the library's (`h2`, an extra). What
   it hands out becomes the same parts that the HTTP/1.1 reader yields, so that everything behind
   them does not know which version was spoken.
2. GOAWAY is read here and kept from the library: it takes that frame for the end of the connection,
   while a hop that is being drained sends it and still answers what it has (RFC 9113, 6.8).
3. `feed` never raises for what the peer sent: a breach becomes a `Broken` part.
4. Every buffer is bounded: one frame of `FRAME_BYTES_MAX`, a header block of
   `core.wire.http1.HEAD_BYTES_MAX`. Body bytes are handed on, and acknowledged at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.http1 import (
    HEAD_BYTES_MAX,
    INTERIM_ANSWERS_MAX,
    Broken,
    Data,
    End,
    Head,
    Part,
)

FRAME_BYTES_MAX = 16 * 1024
"""The largest payload that we allow, which is also the least that may be allowed (6.5.2)."""

WINDOW_BYTES = 1024 * 1024
"""What a hop may send ahead of us; answers are read at once, so that this never holds it up."""

_FRAME_HEAD_BYTES = 9
_GOAWAY = 7
_STATUS = re.compile(rb"[1-9]\d\d")
_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HOP_BY_HOP = {"connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding",
               "upgrade"}  # fmt: skip
"""Fields of HTTP/1.1 that must not stand in a request (8.2.2), and the one that `:authority` is."""


class Http2Answer:
    """Reads the answer of one stream; what `AnswerReader` expects of a reader."""

    def __init__(self, wire: Http2Wire) -> None:
        self._wire = wire
        self.head: Head | None = None
        self.interim_answers = 0
        self.finished = False
        self.ending: Ending | None = None
        """How the hop ended this stream, or refused it, where it did not end regularly."""
        self.why: str | None = None

    @property
    def answering(self) -> bool:
        """Its head has come, or it is over."""
        return self.head is not None or self.finished

    def feed(self, received: bytes) -> list[Part]:
        """The parts that these bytes of the connection complete."""
        parts: list[Part] = []
        for event in self._wire.take(received):
            if not self.finished:
                self._event(event, parts)
        self._look_at_connection(parts)
        return parts

    def feed_eof(self) -> list[Part]:
        """The peer sent FIN, which never ends a stream regularly."""
        return []

    def _event(self, event: object, parts: list[Part]) -> None:
        match event:
            case InformationalResponseReceived():
                self.interim_answers += 1
                if self.interim_answers > INTERIM_ANSWERS_MAX:
                    self._broken(parts, "endless-interim-answers")
            case ResponseReceived(headers=headers):
                self._begin(headers or [], parts)
            case DataReceived(data=data) if data:
                parts.append(Data(bytes(data)))
            case StreamEnded():
                parts.append(End())
                self.finished = True
            case StreamReset(error_code=code):
                self.finished = True
                refused = code == ErrorCodes.REFUSED_STREAM
                self.ending = "refused" if refused else "reset"
                self.why = f"RST_STREAM: {error_name(code)}"

    def _begin(self, headers: Sequence[tuple[Any, Any]], parts: list[Part]) -> None:
        fields = [(_bytes(name), _bytes(value)) for name, value in headers]
        status = next((value for name, value in fields if name == b":status"), b"")
        if _STATUS.fullmatch(status) is None:
            self._broken(parts, "bad-status")
            return
        plain = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in fields
            if not name.startswith(b":")
        )
        self.head = Head(int(status), "2", plain, "end-stream")
        parts.append(self.head)

    def _look_at_connection(self, parts: list[Part]) -> None:
        if self.finished:
            return
        if self._wire.breach is not None:
            self._broken(parts, self._wire.breach)
        elif self._wire.refuses_stream:
            self.finished = True
            self.ending, self.why = "refused", self._wire.going_away

    def _broken(self, parts: list[Part], why: str) -> None:
        parts.append(Broken(why))
        self.finished = True


class Http2Wire:
    """The client's side of one connection; `outgoing` has what is to be sent after every call."""

    def __init__(self) -> None:
        configuration = H2Configuration(client_side=True, header_encoding=None)
        self._connection = H2Connection(configuration)
        self._connection.local_settings = Settings(client=True, initial_values=_OUR_SETTINGS)
        self._connection.initiate_connection()
        self._connection.increment_flow_control_window(WINDOW_BYTES)
        self._buffer = bytearray()
        self._stream = 0
        self._body = memoryview(b"")
        self._last_taken: int | None = None
        self._sending = False
        self.going_away: str | None = None
        """The GOAWAY that came, in words; no further request may be sent then."""
        self.breach: str | None = None
        """The rule of the protocol that the peer broke; nothing is read after that."""

    def request(self, pseudo: Sequence[tuple[str, str]], fields: Sequence[tuple[str, str]],
                body: bytes) -> Http2Answer:  # fmt: skip
        """Begin a request on a new stream; its body goes out as far as the peer's windows allow."""
        self._stream = self._connection.get_next_available_stream_id()
        named = [(name, value) for name, value in fields if name not in _HOP_BY_HOP]
        headers = [(name.encode(), value.encode("latin-1", "replace"))
                   for name, value in [*pseudo, *named]]  # fmt: skip
        self._connection.send_headers(self._stream, headers, end_stream=not body)
        self._body = memoryview(body)
        self._sending = bool(body)
        self._send_body()
        return Http2Answer(self)

    @property
    def request_sent(self) -> bool:
        """The whole request was handed out by `outgoing`."""
        return not self._sending

    @property
    def held_up(self) -> str | None:
        """That the peer's flow control holds up the rest of a body, in words."""
        if not self._sending:
            return None
        return f"flow control: the hop takes no more of the body, {len(self._body)} bytes are left"

    @property
    def refuses_stream(self) -> bool:
        """The peer goes away and will not answer the request that is on its way."""
        return self._last_taken is not None and self._stream > self._last_taken

    def outgoing(self) -> bytes:
        """Bytes to send now."""
        return bytes(self._connection.data_to_send())

    def take(self, received: bytes) -> list[object]:
        """Take bytes of the peer; returns the events of the stream that is on its way."""
        self._buffer += received
        events: list[object] = []
        while self.breach is None and (frame := self._next_frame()):
            if frame[3] == _GOAWAY:
                self._goaway(frame)
            else:
                events += self._frame(frame)
        if self.breach is not None:
            self._buffer.clear()
        return events

    def _next_frame(self) -> bytes | None:
        length = int.from_bytes(self._buffer[:3], "big") if len(self._buffer) >= 3 else 0
        if length > FRAME_BYTES_MAX:
            is_http1 = self._buffer.startswith(b"HTT")
            self.breach = "not-http2" if is_http1 else "frame-too-large"
            return None
        size = _FRAME_HEAD_BYTES + length
        if len(self._buffer) < size:
            return None
        frame = bytes(self._buffer[:size])
        del self._buffer[:size]
        return frame

    def _goaway(self, frame: bytes) -> None:
        payload = frame[_FRAME_HEAD_BYTES:]
        if len(payload) < 8:
            self.breach = "bad-goaway"
            return
        self._last_taken = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        self.going_away = f"GOAWAY: {error_name(int.from_bytes(payload[4:8], 'big'))}"

    def _frame(self, frame: bytes) -> list[object]:
        try:
            events = self._connection.receive_data(frame)
            for event in events:
                if isinstance(event, DataReceived) and event.flow_controlled_length:
                    self._connection.acknowledge_received_data(
                        event.flow_controlled_length, event.stream_id
                    )
                if isinstance(event, StreamReset | StreamEnded) and self._is_ours(event):
                    # What is left of the body interests nobody any more.
                    self._body = memoryview(b"")
            self._send_body()
        except ProtocolError as error:
            kind = type(error).__name__.removesuffix("Error")
            self.breach = "http2-" + _CAPITALS.sub("-", kind).lower()
            return []
        return [event for event in events if self._is_ours(event)]

    def _is_ours(self, event: object) -> bool:
        return getattr(event, "stream_id", None) == self._stream

    def _send_body(self) -> None:
        while self._body:
            window = self._connection.local_flow_control_window(self._stream)
            size = min(window, self._connection.max_outbound_frame_size, len(self._body))
            if size <= 0:
                return
            piece, self._body = self._body[:size], self._body[size:]
            self._connection.send_data(self._stream, bytes(piece), end_stream=not self._body)
            self._sending = bool(self._body)


def error_name(code: int) -> str:
    """The name of an error code (RFC 9113, 7), or its number."""
    try:
        return str(ErrorCodes(code).name)
    except ValueError:
        return f"code {int(code)}"


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("latin-1", "replace")


_OUR_SETTINGS = {
    SettingCodes.ENABLE_PUSH: 0,
    SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES,
    SettingCodes.MAX_FRAME_SIZE: FRAME_BYTES_MAX,
    SettingCodes.MAX_HEADER_LIST_SIZE: HEAD_BYTES_MAX,
}
