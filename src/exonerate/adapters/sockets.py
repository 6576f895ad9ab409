"""TCP byte counters of sockets on this host, read from the kernel through `sock_diag`.

The counters are the cheapest sight of a hop's upstream face: while a client waits, they tell
whether the request's bytes left the hop towards the next one, without a tap and without root.
Layouts are those of `struct inet_diag_msg` and `struct tcp_info` (linux/inet_diag.h,
linux/tcp.h); they only ever grow at the end.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
INET_DIAG_INFO = 2
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3

ALL_STATES = 0xFFFFFFFF
STATES = {
    1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2",
    6: "TIME_WAIT", 7: "CLOSE", 8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN", 11: "CLOSING",
}  # fmt: skip
_REQUEST = struct.Struct("=BBBBI")
_HEADER = struct.Struct("=IHHII")
_MESSAGE_BYTES = 72
_BYTES_ACKED_OFFSET = 120
_RETRANSMITS_OFFSET = 100
_RECEIVE_LIMIT = 1 << 18


@dataclass(frozen=True, slots=True)
class SocketRow:
    """One TCP socket of this host.

    `sent_bytes` were acknowledged by the peer, `received_bytes` arrived here (both since the
    connection began); `unread_bytes` wait for the program, `unsent_bytes` for the peer.
    """

    local: str
    local_port: int
    peer: str
    peer_port: int
    state: str
    sent_bytes: int | None
    received_bytes: int | None
    unread_bytes: int
    unsent_bytes: int
    retransmits: int
    inode: int


def tcp_sockets() -> list[SocketRow]:
    """Every TCP socket that this network namespace shows; raises OSError where it may not."""
    rows: list[SocketRow] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as channel:
            channel.settimeout(2.0)
            body = _REQUEST.pack(
                family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0, ALL_STATES
            )
            body += b"\0" * 48
            channel.send(
                _HEADER.pack(
                    _HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, 1, 0
                )
                + body
            )
            rows.extend(_read_dump(channel))
    return rows


def _read_dump(channel: socket.socket) -> Iterator[SocketRow]:
    while True:
        content = channel.recv(_RECEIVE_LIMIT)
        offset = 0
        while offset + _HEADER.size <= len(content):
            length, kind, *_ = _HEADER.unpack_from(content, offset)
            if kind in (NLMSG_ERROR, NLMSG_DONE) or length < _HEADER.size:
                return
            yield _parse_message(content[offset + _HEADER.size : offset + length])
            offset += (length + 3) & ~3


def _parse_message(message: bytes) -> SocketRow:
    family, state = message[0], message[1]
    local_port, peer_port = struct.unpack_from("!HH", message, 4)
    unread, unsent, _uid, inode = struct.unpack_from("=IIII", message, 56)
    info = _attribute(message[_MESSAGE_BYTES:], INET_DIAG_INFO)
    sent = received = None
    retransmits = 0
    if len(info) >= _BYTES_ACKED_OFFSET + 16:
        sent, received = struct.unpack_from("=QQ", info, _BYTES_ACKED_OFFSET)
        (retransmits,) = struct.unpack_from("=I", info, _RETRANSMITS_OFFSET)
    return SocketRow(
        local=_address(family, message[8:24]),
        local_port=local_port,
        peer=_address(family, message[24:40]),
        peer_port=peer_port,
        state=STATES.get(state, str(state)),
        sent_bytes=sent,
        received_bytes=received,
        unread_bytes=unread,
        unsent_bytes=unsent,
        retransmits=retransmits,
        inode=inode,
    )


def _attribute(attributes: bytes, wanted: int) -> bytes:
    offset = 0
    while offset + 4 <= len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, offset)
        if length < 4:
            break
        if kind == wanted:
            return attributes[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    return b""


def _address(family: int, raw: bytes) -> str:
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(raw[:4]))
    address = ipaddress.IPv6Address(raw)
    return str(address.ipv4_mapped or address)
