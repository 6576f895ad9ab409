"""Content codings: compressed body bytes in, plain bytes out, in bounded steps."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

ACCEPTED_CODINGS = "gzip, deflate"
"""What a request may offer, because `decoder_of` can undo it."""

PLAIN_BYTES_STEP = 1024 * 1024
"""The most that one step inflates, so that a small body cannot fill the memory."""

_AUTO_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class CodingError(Exception):
    """The body is not in the coding that its header names."""


class Decoder(Protocol):
    """Undoes one content coding."""

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Plain pieces; raises CodingError where the bytes are not in this coding."""


class Identity:
    """No coding."""

    def decode(self, body: bytes) -> Iterator[bytes]:
        """The bytes as they are."""
        yield body


class Inflate:
    """gzip and deflate, the latter with or without its zlib wrapper."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_AUTO_GZIP_OR_ZLIB)
        self._begun = False

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Inflate in steps of at most `PLAIN_BYTES_STEP`."""
        left = body
        while left and not self._inflater.eof:
            yield self._step(left)
            left = self._inflater.unconsumed_tail
        while tail := self._flushed():
            yield tail

    def _step(self, left: bytes) -> bytes:
        try:
            plain = self._inflater.decompress(left, PLAIN_BYTES_STEP)
        except zlib.error as error:
            if self._begun:
                raise CodingError(str(error)) from error
            # Some servers send raw deflate under the name "deflate" (RFC 9110, 8.4.1.2).
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            self._begun = True
            return self._step(left)
        self._begun = True
        return plain

    def _flushed(self) -> bytes:
        """Output that was held back because a step was full."""
        if self._inflater.eof or not self._begun:
            return b""
        try:
            return self._inflater.decompress(b"", PLAIN_BYTES_STEP)
        except zlib.error as error:
            raise CodingError(str(error)) from error


def decoder_of(content_encoding: str | None) -> Decoder | None:
    """The decoder of a `content-encoding` header, or None where we have none."""
    match (content_encoding or "identity").strip().lower():
        case "identity" | "":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Inflate()
        case _:
            return None
