"""TCP byte counters of sockets on this host, read from the kernel through `sock_diag`.

The counters are the cheapest sight of a hop's upstream face: while a client waits, they tell
whether the request's bytes left the hop towards the next one, without a tap and without root.
Layouts are those of `struct inet_diag_req`, `struct inet_diag_msg` and `struct tcp_info`
(linux/inet_diag.h, linux/tcp.h); they only ever grow at the end.

The kernel walks its whole table of connections for each answer, a quarter of a million places on a
host with 24 GB, however few there are. So one question is asked for both families
(`TCPDIAG_GETSOCK`, which takes no notice of the family), and whoever wants only sockets in some
states says so.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

NETLINK_SOCK_DIAG = 4
TCPDIAG_GETSOCK = 18
INET_DIAG_INFO = 2
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3

ALL_STATES = 0xFFFFFFFF
LISTENING = 1 << 10
STATES = {
    1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2",
    6: "TIME_WAIT", 7: "CLOSE", 8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN", 11: "CLOSING",
}  # fmt: skip
_REQUEST = struct.Struct("=4B48x2I")
_HEADER = struct.Struct("=IHHII")
_ERROR = struct.Struct("=i")
_MESSAGE_BYTES = 72
# Offsets in `struct tcp_info`. The first byte of interest counts the retransmissions in a row that
# nobody has answered; `total_retrans` never falls.
_IN_A_ROW_OFFSET = 2
_UNACKED_OFFSET, _LOST_OFFSET = 24, 32
_LAST_ACK_MS_OFFSET, _RTT_US_OFFSET = 56, 68
_RETRANSMITS_OFFSET = 100
_BYTES_ACKED_OFFSET = 120
_RECEIVE_LIMIT = 1 << 18
_MAPPED = bytes(10) + b"\xff\xff"
"""How an IPv6 address begins that stands for one of IPv4 (RFC 4291, 2.5.5.2)."""


_PORTS, _PORTS_OFFSET = struct.Struct("!HH"), 4
_INODE, _INODE_OFFSET = struct.Struct("=I"), 68

Wanted: TypeAlias = Callable[[int, int, int], bool]
"""Given the local port, the peer's port and the inode of a socket."""


def _every_one(_local_port: int, _peer_port: int, _inode: int) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SocketRow:
    """One TCP socket of this host.

    `sent_bytes` were acknowledged by the peer, `received_bytes` arrived here (both since the
    connection began); `unread_bytes` wait for the program, `unsent_bytes` for the peer.
    `retransmits` counts since the connection began; `in_a_row` those that nobody has answered yet.
    `unacked` and `lost` count segments; `last_ack_age_s` is the time since the peer's kernel last
    said anything, `rtt_s` how long it usually takes.
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
    in_a_row: int = 0
    unacked: int = 0
    lost: int = 0
    rtt_s: float | None = None
    last_ack_age_s: float | None = None


def tcp_sockets(wanted: Wanted = _every_one, *, states: int = ALL_STATES) -> list[SocketRow]:
    """Every TCP socket of this network namespace that is wanted; raises OSError where it may not.

    A busy host has tens of thousands, and reading one takes much longer than passing it over.
    `states` has a bit for each number of `STATES`.
    """
    body = _REQUEST.pack(socket.AF_INET, 0, 0, 1 << (INET_DIAG_INFO - 1), states, 0)
    length = _HEADER.size + len(body)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as channel:
        channel.settimeout(2.0)
        channel.send(_HEADER.pack(length, TCPDIAG_GETSOCK, NLM_F_REQUEST_DUMP, 1, 0) + body)
        return list(_read_dump(channel, wanted))


def _read_dump(channel: socket.socket, wanted: Wanted) -> Iterator[SocketRow]:
    while True:
        content = channel.recv(_RECEIVE_LIMIT)
        offset = 0
        while offset + _HEADER.size <= len(content):
            length, kind, *_ = _HEADER.unpack_from(content, offset)
            if kind == NLMSG_ERROR:
                (code,) = _ERROR.unpack_from(content, offset + _HEADER.size)
                raise OSError(-code, os.strerror(-code))
            if kind == NLMSG_DONE or length < _HEADER.size:
                return
            ports = _PORTS.unpack_from(content, offset + _HEADER.size + _PORTS_OFFSET)
            inode = _INODE.unpack_from(content, offset + _HEADER.size + _INODE_OFFSET)
            if wanted(*ports, *inode):
                yield _parse_message(content[offset + _HEADER.size : offset + length])
            offset += (length + 3) & ~3


def _parse_message(message: bytes) -> SocketRow:
    family, state = message[0], message[1]
    local_port, peer_port = struct.unpack_from("!HH", message, 4)
    unread, unsent, _uid, inode = struct.unpack_from("=IIII", message, 56)
    info = _attribute(message[_MESSAGE_BYTES:], INET_DIAG_INFO)
    known = _Info.of(info)
    return SocketRow(
        local=_address(family, message[8:24]),
        local_port=local_port,
        peer=_address(family, message[24:40]),
        peer_port=peer_port,
        state=STATES.get(state, str(state)),
        sent_bytes=known.sent,
        received_bytes=known.received,
        unread_bytes=unread,
        unsent_bytes=unsent,
        retransmits=known.retransmits,
        inode=inode,
        in_a_row=known.in_a_row,
        unacked=known.unacked,
        lost=known.lost,
        rtt_s=known.rtt_s,
        last_ack_age_s=known.last_ack_age_s,
    )


@dataclass(frozen=True, slots=True)
class _Info:
    """What is read of `struct tcp_info`; nothing where the kernel gives none (TIME_WAIT)."""

    sent: int | None = None
    received: int | None = None
    retransmits: int = 0
    in_a_row: int = 0
    unacked: int = 0
    lost: int = 0
    rtt_s: float | None = None
    last_ack_age_s: float | None = None

    @classmethod
    def of(cls, info: bytes) -> _Info:
        if len(info) < _BYTES_ACKED_OFFSET + 16:
            return cls()
        sent, received = struct.unpack_from("=QQ", info, _BYTES_ACKED_OFFSET)

        def number(offset: int) -> int:
            return int(struct.unpack_from("=I", info, offset)[0])

        return cls(
            sent=sent,
            received=received,
            retransmits=number(_RETRANSMITS_OFFSET),
            in_a_row=info[_IN_A_ROW_OFFSET],
            unacked=number(_UNACKED_OFFSET),
            lost=number(_LOST_OFFSET),
            rtt_s=number(_RTT_US_OFFSET) / 1e6,
            last_ack_age_s=number(_LAST_ACK_MS_OFFSET) / 1e3,
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
        return socket.inet_ntop(socket.AF_INET, raw[:4])
    if raw.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, raw[len(_MAPPED) :])
    return socket.inet_ntop(socket.AF_INET6, raw)
