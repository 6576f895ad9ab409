"""What the operating system's sockets say, in the words of an exchange."""

from __future__ import annotations

import errno

from exonerate.core.wire.end_codes import Ending

SO_TIMESTAMPNS = 35
"""From asm-generic/socket.h (SO_TIMESTAMPNS_OLD); Python's socket module does not name it."""

_ENDINGS: dict[int, Ending] = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ECONNABORTED: "reset",
    errno.ETIMEDOUT: "timed-out",
}


def ending_of(error: OSError) -> Ending:
    """What an error of a socket means for an exchange."""
    return _ENDINGS.get(error.errno or 0, "unreachable")
