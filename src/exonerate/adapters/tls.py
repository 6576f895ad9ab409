"""TLS between a socket of ours and the plain bytes, through memory buffers.

The socket stays ours (its ancillary data carries the kernel's stamps), so the TLS engine sees only
bytes: records in, plain text out, records to send.
"""

from __future__ import annotations

import ssl

PLAIN_BYTES_STEP = 64 * 1024


class TlsBox:
    """One client-side TLS session. Raises ssl.SSLError where the peer breaks it."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._session = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_name
        )
        self.secured = False
        self.closed = False
        """The peer sent its close alert."""

    def begin(self) -> bytes:
        """The first records to send."""
        self._shake()
        return self._outgoing.read()

    def take(self, records: bytes) -> tuple[bytes, bytes]:
        """Give records that came; returns plain bytes and records to send."""
        self._incoming.write(records)
        if not self.secured:
            self._shake()
        plain = self._decrypt() if self.secured else b""
        return plain, self._outgoing.read()

    def encrypt(self, plain: bytes) -> bytes:
        """The records of these plain bytes."""
        assert self.secured
        if plain:
            self._session.write(plain)
        return self._outgoing.read()

    def _shake(self) -> None:
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.secured = True

    def _decrypt(self) -> bytes:
        pieces: list[bytes] = []
        while True:
            try:
                piece = self._session.read(PLAIN_BYTES_STEP)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                self.closed = True
                break
            if not piece:
                self.closed = True
                break
            pieces.append(piece)
        return b"".join(pieces)
