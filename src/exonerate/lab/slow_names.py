"""A name server that knows every name, and takes its time over IPv6 addresses.

    python -m exonerate.lab.slow_names --host 127.53.7.1 --ready-port 9999 --delay-aaaa 1.5

Rules
-----
1. A question for an A record is answered at once: 127.0.0.1. One for AAAA is answered after the
   delay: there is none. Anything else: there is none, at once.
2. Answers are RFC 1035 messages of one question; what is no question is not answered.
3. `--ready-port` listens and does nothing, so that whoever starts it can tell that it stands.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import struct
import sys
from collections.abc import Sequence
from typing import cast

DNS_PORT = 53
HEADER = struct.Struct("!HHHHHH")
QUESTION_END = struct.Struct("!HH")
A, AAAA, INTERNET = 1, 28, 1
ANSWER_FLAGS = 0x8580
"""A response, authoritative, recursion wanted and available, no error (RFC 1035, 4.1.1)."""
TTL_S = 0
POINTER_TO_QUESTION = 0xC00C
LABEL_MAX = 63


def kind_of(message: bytes) -> int | None:
    """The type of record that a message asks for, or None when it is no question."""
    end = _name_end(message)
    if end is None or len(message) < end + QUESTION_END.size:
        return None
    _, flags, questions, *_ = HEADER.unpack_from(message)
    if flags & 0x8000 or questions != 1:
        return None
    kind: int = QUESTION_END.unpack_from(message, end)[0]
    return kind


def answer_to(message: bytes, kind: int, address: str) -> bytes:
    """The answer to a question: one address for A, no record for anything else."""
    end = _name_end(message)
    assert end is not None
    question = message[HEADER.size : end + QUESTION_END.size]
    count = 1 if kind == A else 0
    (identity,) = struct.unpack_from("!H", message)
    head = HEADER.pack(identity, ANSWER_FLAGS, 1, count, 0, 0)
    if not count:
        return head + question
    record = struct.pack("!HHHIH", POINTER_TO_QUESTION, A, INTERNET, TTL_S, 4)
    return head + question + record + socket.inet_aton(address)


def _name_end(message: bytes) -> int | None:
    """Where the name of the first question ends."""
    at = HEADER.size
    while at < len(message):
        length = message[at]
        if length == 0:
            return at + 1
        if length > LABEL_MAX:
            return None
        at += 1 + length
    return None


class SlowNames(asyncio.DatagramProtocol):
    """Answers questions, those about IPv6 late."""

    def __init__(self, delay_aaaa_s: float, address: str = "127.0.0.1") -> None:
        self._delay_aaaa_s = delay_aaaa_s
        self._address = address
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the socket."""
        # Python 3.11's own datagram transport is no subclass of the one that it documents.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        """Answer now, or after the delay."""
        kind = kind_of(data)
        if kind is None or self._transport is None:
            return
        delay_s = self._delay_aaaa_s if kind == AAAA else 0.0
        answer = answer_to(data, kind, self._address)
        asyncio.get_running_loop().call_later(delay_s, self._transport.sendto, answer, addr)


async def serve(host: str, port: int, *, ready_port: int, delay_aaaa_s: float) -> None:
    """Answer questions until the process ends."""
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: SlowNames(delay_aaaa_s), local_addr=(host, port))
    ready = await asyncio.start_server(_nothing, "127.0.0.1", ready_port)
    async with ready:
        await ready.serve_forever()


async def _nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal ends the process."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(
            serve(
                options.host,
                options.port,
                ready_port=options.ready_port,
                delay_aaaa_s=options.delay_aaaa,
            )
        )
    except OSError as error:
        sys.stderr.write(f"error: cannot serve on {options.host}:{options.port}: {error}\n")
        sys.stderr.write("\nhint: ports below 1024 need root\n")
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.slow_names",
        description="A name server that takes its time over IPv6 addresses.",
    )
    parser.add_argument("--host", required=True, metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=DNS_PORT)
    parser.add_argument("--ready-port", type=int, required=True, metavar="PORT")
    parser.add_argument("--delay-aaaa", type=float, default=1.5, metavar="S")
    return parser


if __name__ == "__main__":
    sys.exit(main())
