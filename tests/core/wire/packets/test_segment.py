"""Captured packets: what they say of themselves, cut short, in fragments, and broken."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.wire_packets import internet, tcp

from exonerate.core.wire.packets.segment import ACK, Segment, TooBig, read_packet

V4 = (("10.0.0.2", 40000), ("10.0.0.3", 8000))
V6 = (("fd00::2", 40000), ("fd00::3", 8000))


def segment(packet: bytes, length: int | None = None) -> Segment:
    """The packet as a segment, which it is."""
    found = read_packet(packet, len(packet) if length is None else length)
    assert isinstance(found, Segment)
    return found


@pytest.mark.parametrize("ends", [V4, V6], ids=["IPv4", "IPv6"])
def test_numbers_flags_and_payload_are_read(ends: tuple[tuple[str, int], tuple[str, int]]) -> None:
    """Behind whatever options the TCP header has."""
    packet = tcp(*ends, sequence=7, acknowledged=9, payload=b"POST", options=b"\1" * 12)
    found = segment(packet)
    assert (found.source_port, found.target_port) == (40000, 8000)
    assert (found.sequence, found.acknowledged, found.flags) == (7, 9, ACK)
    assert (found.payload, found.payload_bytes, found.hops_left) == (b"POST", 4, 64)


@pytest.mark.parametrize("ends", [V4, V6], ids=["IPv4", "IPv6"])
def test_a_packet_that_was_cut_short_keeps_its_true_length(
    ends: tuple[tuple[str, int], tuple[str, int]],
) -> None:
    """What counts is what the packet says of itself."""
    whole = tcp(*ends, payload=b"x" * 1000)
    found = segment(whole[:-900], len(whole))
    assert (found.payload_bytes, len(found.payload)) == (1000, 100)


def test_padding_of_the_link_is_no_payload() -> None:
    """The shortest frame of an Ethernet is longer than an empty segment."""
    found = segment(tcp(*V4) + bytes(6))
    assert (found.payload, found.payload_bytes) == (b"", 0)


def test_a_segment_too_long_for_its_header_has_the_length_of_the_wire() -> None:
    """The kernel has not split it yet, and writes 0."""
    packet = bytearray(tcp(*V4, payload=b"x" * 10))
    packet[2:4] = b"\0\0"
    assert segment(bytes(packet), 100_040).payload_bytes == 100_000


def test_a_first_fragment_is_a_segment_and_says_so() -> None:
    """Its length is its own; a later one has no ports."""
    body = tcp(*V4, payload=b"x" * 12)[20:]
    assert segment(internet("10.0.0.2", "10.0.0.3", 6, body, more=True)).fragment
    later = bytearray(internet("10.0.0.2", "10.0.0.3", 6, body))
    later[6:8] = b"\0\4"
    assert read_packet(bytes(later), len(later)) is None


def test_headers_before_tcp_are_passed_over_in_ipv6() -> None:
    """Hop-by-hop options, and a fragment header."""
    plain = tcp(*V6, payload=b"abc")
    options = bytes([44, 0]) + bytes(6)
    first = bytes([6, 0, 0, 1]) + bytes(4)
    later = bytes([6, 0, 0, 9]) + bytes(4)
    body = plain[40:]
    with_first = internet("fd00::2", "fd00::3", 0, options + first + body)
    assert segment(with_first).payload == b"abc"
    assert segment(with_first).fragment
    with_later = internet("fd00::2", "fd00::3", 0, options + later + body)
    assert read_packet(with_later, len(with_later)) is None


@pytest.mark.parametrize("version", [4, 6])
def test_a_router_that_says_what_fits_is_heard(version: int) -> None:
    """It quotes the packet that did not fit, as far as its ports."""
    ends, protocol = (V4, 1) if version == 4 else (V6, 58)
    quoted = tcp(*ends, payload=b"x" * 1400)[:60]
    kind = struct.pack("!BBHHH", 3, 4, 0, 0, 576)
    if version == 6:
        kind = struct.pack("!BBHI", 2, 0, 0, 1280)
    message = internet(ends[0][0], ends[1][0], protocol, kind + quoted)
    found = read_packet(message, len(message))
    assert isinstance(found, TooBig)
    assert (found.source_port, found.target_port) == (40000, 8000)
    assert found.mtu == (576 if version == 4 else 1280)


def test_other_messages_and_protocols_are_nothing() -> None:
    """An echo, and a datagram."""
    echo = internet("10.0.0.2", "10.0.0.3", 1, bytes([8, 0]) + bytes(40))
    datagram = internet("10.0.0.2", "10.0.0.3", 17, bytes(40))
    assert [read_packet(p, len(p)) for p in (echo, datagram)] == [None, None]


@given(st.binary(max_size=120), st.integers(0, 70_000), st.sampled_from([0, 0x45, 0x4F, 0x60]))
def test_any_bytes_are_read_or_refused(content: bytes, length: int, first: int) -> None:
    """Nothing raises, and no packet has less than was captured of it."""
    packet = bytes([first]) + content if first else content
    found = read_packet(packet, length)
    if isinstance(found, Segment):
        assert len(found.payload) <= found.payload_bytes
        assert len(found.payload) <= len(packet)
        assert 0 <= found.source_port <= 65535
        assert len(found.source) == len(found.target)
