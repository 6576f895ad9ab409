"""Packets made byte by byte, and a conversation of them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_address

from exonerate.core.wire.packets.connections import PacketTable, Vantage
from exonerate.core.wire.packets.seen import PacketConnection
from exonerate.core.wire.packets.segment import ACK, SYN, read_packet

MS = 1_000_000
CLIENT, SERVER = ("10.0.0.2", 40000), ("10.0.0.3", 8000)
CABLE = Vantage(interface=5, leaving=False, near=True)
BRIDGE = Vantage(interface=9, leaving=False, near=False)


def tcp(
    source: tuple[str, int],
    target: tuple[str, int],
    *,
    sequence: int = 0,
    acknowledged: int = 0,
    flags: int = ACK,
    window: int = 500,
    payload: bytes = b"",
    options: bytes = b"",
    hops_left: int = 64,
) -> bytes:
    """One TCP segment in an IP packet of the version that the addresses are of."""
    offset = (5 + len(options) // 4) << 4
    numbers = (sequence % (1 << 32), acknowledged % (1 << 32))
    header = struct.pack("!HHIIBBHHH", source[1], target[1], *numbers, offset, flags, window, 0, 0)
    return internet(source[0], target[0], 6, header + options + payload, hops_left=hops_left)


def internet(
    source: str, target: str, protocol: int, body: bytes, *, hops_left: int = 64, more: bool = False
) -> bytes:
    """An IP packet without options."""
    ends = ip_address(source).packed + ip_address(target).packed
    if len(ends) == 32:
        return struct.pack("!IHBB", 6 << 28, len(body), protocol, hops_left) + ends + body
    fragment = 0x2000 if more else 0x4000
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, fragment, hops_left, protocol, 0)
    return head + ends + body


@dataclass
class Talk:
    """A connection to a port that is watched, packet by packet, a millisecond apart."""

    table: PacketTable
    client: tuple[str, int] = CLIENT
    server: tuple[str, int] = SERVER
    vantage: Vantage = CABLE
    hops_left: int = 64
    up: int = 1000
    down: int = 5000
    now_ns: int = 1_000_000_000

    def opened(self) -> Talk:
        """After its handshake."""
        self.send(flags=SYN)
        self.up += 1
        self.answer(flags=SYN | ACK)
        self.down += 1
        return self

    def send(self, payload: bytes = b"", *, flags: int = ACK, back: int = 0) -> None:
        """From the client; `back` bytes were sent before."""
        self._take(self.client, self.server, self.up - back, self.down, flags, payload)
        self.up += max(0, len(payload) - back)

    def answer(self, payload: bytes = b"", *, flags: int = ACK, back: int = 0) -> None:
        """From the server."""
        self._take(self.server, self.client, self.down - back, self.up, flags, payload)
        self.down += max(0, len(payload) - back)

    def seen(self, since_ns: int = 0) -> PacketConnection:
        """The only connection that the table tells of."""
        (connection,) = self.table.connections(since_ns)
        return connection

    def _take(
        self,
        source: tuple[str, int],
        target: tuple[str, int],
        sequence: int,
        acknowledged: int,
        flags: int,
        payload: bytes,
    ) -> None:
        packet = tcp(
            source, target, sequence=sequence, acknowledged=acknowledged, flags=flags,
            payload=payload, hops_left=self.hops_left,
        )  # fmt: skip
        read = read_packet(packet, len(packet))
        assert read is not None
        self.now_ns += MS
        self.table.take(read, self.now_ns, self.vantage)
