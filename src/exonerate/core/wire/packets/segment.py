"""One captured packet without its link header: what IPv4 or IPv6 and TCP say of it.

Rules
-----
1. What a packet says of its own length counts, never how much of it was captured: a packet may be
   cut short here. Segments that the kernel has not split yet can be longer than an IP header can
   say; it says 0 then, and the length on the wire counts.
2. A later fragment has no TCP header: it is no segment here. The first one is, and says so.
3. Bytes that are no sound packet are None, never an exception.

Layouts: RFC 791 (IPv4), RFC 8200 (IPv6), RFC 9293 (TCP), RFC 792 and RFC 4443 (ICMP).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
TCP, ICMP, ICMP6 = 6, 1, 58
_IPV4_BYTES, _IPV6_BYTES, _TCP_BYTES, _ICMP_BYTES = 20, 40, 20, 8
_FRAGMENT, _MORE, _OFFSET = 44, 0x2000, 0x1FFF
_SKIPPED = frozenset({0, 43, 60})
"""IPv6 extension headers that are passed over: hop-by-hop, routing, destination options."""
_HEADERS_MAX = 8
_LATER = -1
_NEEDS_FRAGMENTATION, _TOO_BIG = (3, 4), (2, 0)
"""Type and code, in ICMP and in ICMPv6."""
_PORTS_AND_NUMBERS = struct.Struct("!HHIIBBH")


@dataclass(frozen=True, slots=True)
class Segment:
    """One TCP segment; addresses as their 4 or 16 bytes."""

    source: bytes
    source_port: int
    target: bytes
    target_port: int
    sequence: int
    acknowledged: int
    flags: int
    window: int
    hops_left: int
    """TTL or hop limit as it was here."""
    payload_bytes: int
    """As the packet says; `payload` is what was captured of it."""
    payload: bytes
    fragment: bool = False


@dataclass(frozen=True, slots=True)
class TooBig:
    """A router's word that a packet of this connection did not fit through, and what would."""

    source: bytes
    source_port: int
    target: bytes
    target_port: int
    mtu: int


@dataclass(frozen=True, slots=True)
class _Internet:
    """The IP header of a packet, and what is behind it."""

    source: bytes
    target: bytes
    protocol: int
    hops_left: int
    body: bytes
    body_bytes: int
    fragment: bool


def read_packet(packet: bytes, length: int) -> Segment | TooBig | None:
    """What a packet is that was `length` bytes long on the wire; None where it is neither."""
    internet = _internet(packet, length)
    if internet is None:
        return None
    if internet.protocol == TCP:
        return _segment(internet)
    if internet.protocol in (ICMP, ICMP6):
        return _too_big(internet)
    return None


def _internet(packet: bytes, length: int) -> _Internet | None:
    version = packet[0] >> 4 if packet else 0
    if version == 4:
        return _ipv4(packet, length)
    return _ipv6(packet, length) if version == 6 else None


def _ipv4(packet: bytes, length: int) -> _Internet | None:
    header = (packet[0] & 0x0F) * 4
    if header < _IPV4_BYTES or len(packet) < header:
        return None
    total, _, fragment = struct.unpack_from("!HHH", packet, 2)
    total = total or length
    if fragment & _OFFSET or total < header:
        return None
    return _Internet(
        source=packet[12:16],
        target=packet[16:20],
        protocol=packet[9],
        hops_left=packet[8],
        body=packet[header:total],
        body_bytes=total - header,
        fragment=bool(fragment & _MORE),
    )


def _ipv6(packet: bytes, length: int) -> _Internet | None:
    if len(packet) < _IPV6_BYTES:
        return None
    total = int.from_bytes(packet[4:6]) + _IPV6_BYTES
    if total == _IPV6_BYTES:
        total = max(length, _IPV6_BYTES)
    protocol, at, fragment = packet[6], _IPV6_BYTES, False
    for _ in range(_HEADERS_MAX):
        if protocol not in _SKIPPED and protocol != _FRAGMENT:
            break
        header = packet[at : at + 8]
        if len(header) < 8:
            return None
        place = int.from_bytes(header[2:4]) if protocol == _FRAGMENT else 0
        size = 8 if protocol == _FRAGMENT else (header[1] + 1) * 8
        fragment = fragment or bool(place & 1)
        # A later fragment is taken for something unknown.
        protocol, at = _LATER if place >> 3 else header[0], at + size
    if total < at:
        return None
    return _Internet(
        source=packet[8:24],
        target=packet[24:40],
        protocol=protocol,
        hops_left=packet[7],
        body=packet[at:total],
        body_bytes=total - at,
        fragment=fragment,
    )


def _segment(internet: _Internet) -> Segment | None:
    body = internet.body
    if len(body) < _TCP_BYTES:
        return None
    fields = _PORTS_AND_NUMBERS.unpack_from(body)
    source_port, target_port, sequence, acknowledged, offset, flags, window = fields
    header = (offset >> 4) * 4
    if header < _TCP_BYTES or internet.body_bytes < header:
        return None
    return Segment(
        source=internet.source,
        source_port=source_port,
        target=internet.target,
        target_port=target_port,
        sequence=sequence,
        acknowledged=acknowledged,
        flags=flags,
        window=window,
        hops_left=internet.hops_left,
        payload_bytes=internet.body_bytes - header,
        payload=body[header:],
        fragment=internet.fragment,
    )


def _too_big(internet: _Internet) -> TooBig | None:
    body = internet.body
    wanted = _NEEDS_FRAGMENTATION if internet.protocol == ICMP else _TOO_BIG
    if len(body) < _ICMP_BYTES or (body[0], body[1]) != wanted:
        return None
    width = 2 if internet.protocol == ICMP else 4
    # What did not fit is quoted from its IP header on, at least as far as the ports.
    quoted = _internet(body[_ICMP_BYTES:], len(body) - _ICMP_BYTES)
    if quoted is None or quoted.protocol != TCP or len(quoted.body) < 4:
        return None
    source_port, target_port = struct.unpack_from("!HH", quoted.body)
    return TooBig(
        source=quoted.source,
        source_port=source_port,
        target=quoted.target,
        target_port=target_port,
        mtu=int.from_bytes(body[8 - width : 8]),
    )
