"""Packets of the loopback, captured for real where this process may; else said to be refused."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import closing

import pytest

from exonerate.adapters.packet_ring import FRAMES, Captured, PacketRing
from exonerate.core.wire.packets.filter import packet_filter
from exonerate.core.wire.packets.segment import SYN, Segment, read_packet
from exonerate.errors import ExonerateError

UNPRIVILEGED = """
import os
from exonerate.adapters.packet_ring import PacketRing
from exonerate.core.wire.packets.filter import packet_filter
from exonerate.errors import ExonerateError
if os.getuid() == 0:
    os.setuid(65534)
try:
    PacketRing(packet_filter([8000]))
except ExonerateError as error:
    print(error.problem, error.hint)
"""


def may_capture() -> bool:
    """Whether this process is root, or as good as root here."""
    try:
        PacketRing(packet_filter([1])).close()
    except ExonerateError:
        return False
    return True


def captured(ring: PacketRing, wanted: int) -> list[Captured]:
    """At least so many packets; the loopback delivers before `send` returns."""
    found: list[Captured] = []
    for _ in range(FRAMES):
        found.extend(ring.packets(64))
        if len(found) >= wanted:
            break
    return found


def test_who_may_not_capture_is_told_what_it_takes() -> None:
    """And what to leave out."""
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED], capture_output=True, text=True, check=True
    )
    assert "CAP_NET_RAW" in done.stdout
    assert "leave `--packets` out" in done.stdout


def test_packets_of_one_port_come_with_their_beginnings_and_times() -> None:
    """Each twice, as it leaves and as it arrives; those of another port do not come at all."""
    if not may_capture():
        with pytest.raises(ExonerateError, match="CAP_NET_RAW"):
            PacketRing(packet_filter([8000]))
        return
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.create_server(("127.0.0.1", 0))) as other,
    ):
        port = server.getsockname()[1]
        with closing(PacketRing(packet_filter([port]))) as ring:
            socket.create_connection(other.getsockname()).close()
            with closing(socket.create_connection(("127.0.0.1", port))) as client:
                client.sendall(b"x" * 5000)
                # Three of the handshake, one with data, each on two ways.
                found = captured(ring, 8)
            read = [read_packet(packet.content, packet.length) for packet in found]
            assert ring.count_dropped() == 0
    segments = [one for one in read if isinstance(one, Segment)]
    assert len(segments) == len(found)
    assert {port in (one.source_port, one.target_port) for one in segments} == {True}
    assert segments[0].flags & SYN
    assert {packet.vantage.leaving for packet in found} == {True, False}
    assert all(packet.vantage.near for packet in found)
    assert [p.wall_ns for p in found] == sorted(p.wall_ns for p in found)
    (whole,) = {one.payload_bytes for one in segments if one.payload_bytes}
    assert whole == 5000
    assert max(len(one.payload) for one in segments) < 1536
