"""The engine's answer on its way through: read along always, changed only where a rule says so.

Without transforms the bytes leave as they came, chunk by chunk as the engine framed them; the one
exception is `Connection: close`, which concerns the engine's connection and not the client's.
With transforms the body is taken out of its framing, changed, and put into chunks again.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.lab.faulty_proxy.transforms import Chain, Transform, invented_ending
from exonerate.lab.http1 import (
    LAST_CHUNK,
    Body,
    EndlessBody,
    Head,
    chunk,
    response_body,
    take_head,
)

EVENT_END = b"\n\n"
INVENTED_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Answer:
    """One answer, from its first byte to its last."""

    def __init__(
        self,
        *,
        to_method: str,
        transforms: Sequence[Transform] = (),
        recode: bool = False,
        lose_end: bool = False,
        announce_close: bool = False,
    ) -> None:
        self.head: Head | None = None
        self.done = False
        self.body_bytes = 0
        self.events = 0
        self._to_method = to_method
        self._chain = Chain(transforms) if transforms or recode else None
        self._lose_end = lose_end
        self._announce_close = announce_close
        self._buffer = bytearray()
        self._body: Body | None = None
        self._last = b""

    @property
    def ends_with_connection(self) -> bool:
        """Whether the client can see the end only by a close."""
        return isinstance(self._body, EndlessBody) and self._chain is None

    def feed(self, data: bytes) -> bytes:
        """What leaves for these bytes of the engine."""
        leaves = bytearray()
        if self._body is None:
            self._buffer += data
            leaves += self._heads()
            data = bytes(self._buffer)  # what stands behind the heads
        if self._body is not None:
            self._buffer.clear()
            leaves += self._pass(self._body, data)
        return bytes(leaves)

    def engine_closed(self) -> bytes:
        """The engine closed: the end of a body without a length, a cut of any other."""
        if not isinstance(self._body, EndlessBody) or self.done:
            return b""
        self.done = True
        return self._end() if self._chain is not None else b""

    def invented(self, finish_reason: str) -> bytes:
        """A well-formed end at this point, whatever the engine goes on to say."""
        head = b"" if self.head is not None else INVENTED_HEAD
        return head + chunk(invented_ending(finish_reason)) + LAST_CHUNK

    def _heads(self) -> bytes:
        """Interim heads as they are, and the final one."""
        leaves = bytearray()
        while self._body is None and (head := take_head(self._buffer)) is not None:
            if head.status // 100 == 1:
                leaves += head.raw
                continue
            self.head = head
            self._body = response_body(head, to_method=self._to_method)
            self.done = self._body.done
            leaves += self._leaving_head(head).raw
            if self.done and self._chain is not None:
                leaves += self._end()
        return bytes(leaves)

    def _leaving_head(self, head: Head) -> Head:
        if self._chain is not None:
            head = head.with_field("Content-Length", None)
            head = head.with_field("Transfer-Encoding", "chunked")
        if self._announce_close:
            return head.with_field("Connection", "close")
        if head.says_close and not self.ends_with_connection:
            return head.with_field("Connection", "keep-alive")
        return head

    def _pass(self, body: Body, data: bytes) -> bytes:
        if self.done or not data:
            return b""
        payload, used = body.feed(data)
        self._count(payload)
        self.done = body.done
        if self._chain is None:
            return data[:used]
        leaves = chunk(self._chain.feed(payload)) if payload else b""
        return leaves + (self._end() if self.done else b"")

    def _end(self) -> bytes:
        assert self._chain is not None
        return chunk(self._chain.end()) + (b"" if self._lose_end else LAST_CHUNK)

    def _count(self, payload: bytes) -> None:
        self.body_bytes += len(payload)
        self.events += (self._last + payload).count(EVENT_END)
        self._last = payload[-1:] if payload and not payload.endswith(EVENT_END) else b""
