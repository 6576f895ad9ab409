"""Content codings: compressed body bytes in, plain bytes out, in bounded steps.

gzip and deflate come with Python. br and zstd need the extra `codecs`; without it they are neither
offered nor undone, and an answer that comes in one of them all the same is said to be unreadable.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

PLAIN_BYTES_STEP = 1024 * 1024
"""The most that one step inflates, so that a small body cannot fill the memory."""

PLAIN_BYTES_MAX = 64 * 1024 * 1024
"""A coded body that inflates to more is not read on: a few kilobytes of br or zstd can hold
gigabytes, and undoing them would outlast the deadline of the request."""

ZSTD_WINDOW_LOG_MAX = 23
"""8 MiB, the largest window that the coding `zstd` allows (RFC 9659, 3)."""

EXTRA = "codecs"
_MODULES = {
    "br": "brotli",
    "zstd": "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
}
_OPENING_BYTES = 2
_GZIP_MAGIC = b"\x1f\x8b"


class CodingError(Exception):
    """The body is not in the coding that its header names."""


class Decoder(Protocol):
    """Undoes one content coding."""

    @property
    def whole(self) -> bool:
        """What came so far is a whole body of this coding."""

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Plain pieces; raises CodingError where the bytes are not in this coding."""


class Identity:
    """No coding."""

    whole = True

    def decode(self, body: bytes) -> Iterator[bytes]:
        """The bytes as they are."""
        yield body


class Inflate:
    """gzip, of one member or several, and deflate with or without its zlib wrapper."""

    def __init__(self) -> None:
        self._inflater: zlib._Decompress | None = None
        self._opening = b""
        self._is_gzip = False

    @property
    def whole(self) -> bool:
        """The last member has ended, or nothing has come at all."""
        return self._inflater.eof if self._inflater else not self._opening

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Inflate in steps of at most `PLAIN_BYTES_STEP`."""
        while body:
            if self._inflater is None or self._inflater.eof:
                body = self._begin_member(body)
                if self._inflater is None or self._inflater.eof:
                    return
            yield from self._until_empty(self._inflater, body)
            body = self._inflater.unused_data

    def _begin_member(self, body: bytes) -> bytes:
        """Begin the first member, or a next one (RFC 1952, 2.2); what is left to inflate."""
        self._opening += body
        if len(self._opening) < _OPENING_BYTES:
            return b""
        opening, self._opening = self._opening, b""
        next_member = self._inflater is not None
        if next_member and not (self._is_gzip and opening.startswith(_GZIP_MAGIC)):
            raise CodingError("bytes after the end")
        self._is_gzip = opening.startswith(_GZIP_MAGIC)
        self._inflater = zlib.decompressobj(_window_bits(opening))
        return opening

    def _until_empty(self, inflater: zlib._Decompress, body: bytes) -> Iterator[bytes]:
        while body and not inflater.eof:
            yield self._step(inflater, body)
            body = inflater.unconsumed_tail
        while tail := b"" if inflater.eof else self._step(inflater, b""):
            yield tail

    @staticmethod
    def _step(inflater: zlib._Decompress, body: bytes) -> bytes:
        try:
            return inflater.decompress(body, PLAIN_BYTES_STEP)
        except zlib.error as error:
            raise CodingError(str(error)) from error


class Brotli:
    """br (RFC 7932), by the library `brotli`."""

    def __init__(self, library: Any) -> None:
        self._error = library.error
        self._decompressor = library.Decompressor()
        self._begun = False

    @property
    def whole(self) -> bool:
        """The stream has ended, or nothing has come at all."""
        return not self._begun or bool(self._decompressor.is_finished())

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Inflate in steps of about `PLAIN_BYTES_STEP`."""
        self._begun = self._begun or bool(body)
        step = self._step(body) if body else b""
        while step or not self._decompressor.can_accept_more_data():
            yield step
            step = self._step(b"")

    def _step(self, body: bytes) -> bytes:
        if self._decompressor.is_finished():
            if body:
                raise CodingError("bytes after the end")
            return b""
        try:
            return bytes(self._decompressor.process(body, output_buffer_limit=PLAIN_BYTES_STEP))
        except self._error as error:
            raise CodingError(str(error)) from error


class Zstandard:
    """zstd (RFC 8878), of one frame or several, by `backports.zstd`."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._unread = True
        self._frame = self._new_frame()
        self._begun = False

    @property
    def whole(self) -> bool:
        """The last frame has ended, or nothing has come at all."""
        return not self._begun or bool(self._frame.eof)

    def decode(self, body: bytes) -> Iterator[bytes]:
        """Inflate in steps of at most `PLAIN_BYTES_STEP`."""
        while body:
            self._begun = True
            if self._frame.eof:
                self._frame, self._unread = self._new_frame(), True
            if self._unread:
                # A frame that is there in one piece is read more strictly by the library than one
                # that comes in several; how a body was cut must not matter.
                self._unread = False
                body, first = body[1:], body[:1]
                yield self._step(first)
            yield self._step(body)
            while not (self._frame.eof or self._frame.needs_input):
                yield self._step(b"")
            body = self._frame.unused_data if self._frame.eof else b""

    def _step(self, body: bytes) -> bytes:
        try:
            return bytes(self._frame.decompress(body, PLAIN_BYTES_STEP))
        except self._library.ZstdError as error:
            raise CodingError(str(error)) from error

    def _new_frame(self) -> Any:
        window = self._library.DecompressionParameter.window_log_max
        return self._library.ZstdDecompressor(options={window: ZSTD_WINDOW_LOG_MAX})


def accepted_codings() -> str:
    """What a request may offer, because `decoder_of` can undo it."""
    return ", ".join(["gzip", "deflate", *(name for name in _MODULES if _is_installed(name))])


def decoder_of(content_encoding: str | None) -> Decoder | None:
    """The decoder of a `content-encoding` header, or None where we have none."""
    match (content_encoding or "identity").strip().lower():
        case "identity" | "":
            return Identity()
        case "gzip" | "x-gzip" | "deflate":
            return Inflate()
        case "br" if _is_installed("br"):
            return Brotli(import_module(_MODULES["br"]))
        case "zstd" if _is_installed("zstd"):
            return Zstandard(import_module(_MODULES["zstd"]))
        case _:
            return None


def unreadable(content_encoding: str) -> str:
    """Why a body in this coding is not judged, and what would let it be."""
    name = content_encoding.strip().lower()
    said = (
        f"the body is in the coding `{name[:40]}`, which was not offered and cannot be undone here"
    )
    return f"{said}; `pip install exonerate[{EXTRA}]` reads it" if name in _MODULES else said


def _window_bits(opening: bytes) -> int:
    """gzip and zlib by their headers (RFC 1952, 2.3.1; RFC 1950, 2.2), else raw deflate.

    Some servers send raw deflate under the name "deflate" (RFC 9110, 8.4.1.2).
    """
    is_gzip = opening.startswith(_GZIP_MAGIC)
    is_zlib = opening[0] & 0x0F == 8 and int.from_bytes(opening[:2], "big") % 31 == 0
    return 32 + zlib.MAX_WBITS if is_gzip or is_zlib else -zlib.MAX_WBITS


def _is_installed(name: str) -> bool:
    module = _MODULES[name]
    package = module.partition(".")[0]
    # Asking for a module inside a package that is not there would raise.
    return find_spec(package) is not None and find_spec(module) is not None
