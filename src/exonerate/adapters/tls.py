"""TLS between a socket of ours and the plain bytes, through memory buffers.

The socket stays ours (its ancillary data carries the kernel's stamps), so the TLS engine sees only
bytes: records in, plain text out, records to send.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from exonerate.adapters.link import Link
from exonerate.errors import ExonerateError

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

    @property
    def protocol(self) -> str | None:
        """What the peer chose of the protocols that were offered; None where it chose none."""
        return self._session.selected_alpn_protocol()

    def last_words(self) -> bytes:
        """The alert that says why we end a session that failed."""
        return self._outgoing.read()

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


def tls_context(link: Link) -> ssl.SSLContext:
    """How a client shakes hands with this hop: certificates and host names are always checked.

    Raises:
        ExonerateError: the file of certificates cannot be read or holds none.
    """
    if link.ca is not None and not Path(link.ca).is_file():
        raise ExonerateError(f"`{link.ca}` does not exist", _HINT_CA)
    try:
        context = ssl.create_default_context(cafile=link.ca)
    except OSError as error:
        raise ExonerateError(f"`{link.ca}` holds no certificates: {error}", _HINT_CA) from error
    context.set_alpn_protocols(link.protocols())
    return context


def tls_problem(error: ssl.SSLError) -> str:
    """What a failed handshake means, with the way out where it is ours to go."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = _CERTIFICATES.get(error.verify_code, "its certificate was refused")
        return f"{why} ({error.verify_message})"
    reason = (error.reason or "").lower().replace("_", " ")
    return next((text for part, text in _HANDSHAKES if part in reason), "") + (
        f" ({reason})" if reason else str(error)
    )


_HINT_CA = "`ca` names a PEM file with the certificate of the authority that signed the hop's"
_NOT_KNOWN = (
    "the certificate is signed by nobody whom this host knows: name the authority's certificate "
    'as `ca = "FILE"` of the hop, or in the variable SSL_CERT_FILE'
)
_OTHER_NAME = "the certificate is for another name: write the hop's URL with a name that is in it"
# The numbers are X509_V_ERR_* of OpenSSL's x509_vfy.h.
_CERTIFICATES = {
    9: "the certificate is not valid yet: compare the clocks of both hosts",
    10: "the certificate has expired: it must be renewed at the hop",
    18: _NOT_KNOWN,
    19: _NOT_KNOWN,
    20: _NOT_KNOWN,
    21: _NOT_KNOWN,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}
_HANDSHAKES = (
    ("no application protocol", "the hop does not speak the version of HTTP that was offered: "
     "see `http` of the hop"),
    ("wrong version number", "the hop does not speak TLS here: write its URL with http://"),
    ("http request", "the hop does not speak TLS here: write its URL with http://"),
    ("certificate required", "the hop asks for a client's certificate, which probes do not have"),
    ("handshake failure", "the hop refused the handshake"),
)  # fmt: skip
