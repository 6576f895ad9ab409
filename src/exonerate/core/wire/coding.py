"""Content codings: compressed body bytes in, plain bytes out, in bounded steps."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

ACCEPTED_CODINGS = "gzip, deflate"
"""What a request may offer, because `decoder_of` can undo it."""

PLAIN_BYTES_STEP = 1024 * 1024
"""The most that one step inflates, so that a small body cannot fill the memory."""

_OPENING_BYTES = 2


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
        self._inflater: zlib._Decompress | None = None
        self._opening = b""

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Inflate in steps of at most `PLAIN_BYTES_STEP`."""
        if self._inflater is None:
            self._opening += body
            if len(self._opening) < _OPENING_BYTES:
                return
            self._inflater = zlib.decompressobj(_window_bits(self._opening))
            body = self._opening
        while body and not self._inflater.eof:
            yield self._step(self._inflater, body)
            body = self._inflater.unconsumed_tail
        while tail := b"" if self._inflater.eof else self._step(self._inflater, b""):
            yield tail

    @staticmethod
    def _step(inflater: zlib._Decompress, body: bytes) -> bytes:
        try:
            return inflater.decompress(body, PLAIN_BYTES_STEP)
        except zlib.error as error:
            raise CodingError(str(error)) from error


def _window_bits(opening: bytes) -> int:
    """gzip and zlib by their headers (RFC 1952, 2.3.1; RFC 1950, 2.2), else raw deflate.

    Some servers send raw deflate under the name "deflate" (RFC 9110, 8.4.1.2).
    """
    is_gzip = opening[:2] == b"\x1f\x8b"
    is_zlib = opening[0] & 0x0F == 8 and int.from_bytes(opening[:2], "big") % 31 == 0
    return 32 + zlib.MAX_WBITS if is_gzip or is_zlib else -zlib.MAX_WBITS


def decoder_of(content_encoding: str | None) -> Decoder | None:
    """The decoder of a `content-encoding` header, or None where we have none."""
    match (content_encoding or "identity").strip().lower():
        case "identity" | "":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Inflate()
        case _:
            return None
