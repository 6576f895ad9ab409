"""The filter's program, run here as the kernel would run it."""

from collections.abc import Sequence
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.wire_packets import internet, tcp

from exonerate.core.wire.packets.filter import (
    AND,
    JUMP_ALWAYS,
    JUMP_ANY_BIT,
    JUMP_EQUAL,
    LOAD_BYTE,
    LOAD_HALF,
    LOAD_HALF_INDEXED,
    LOAD_HEADER_LENGTH,
    LOAD_INDEX,
    LOAD_WORD,
    PORTS_MAX,
    RETURN,
    SNAP_BYTES,
    Instruction,
    packet_filter,
)


def kept(program: Sequence[Instruction], packet: bytes) -> int:
    """How many bytes of the packet the program lets through."""
    value, index, at = 0, 0, 0
    while True:
        code, true, false, operand = program[at]
        place = operand + (index if code == LOAD_HALF_INDEXED else 0)
        width = {LOAD_WORD: 4, LOAD_BYTE: 1, LOAD_HEADER_LENGTH: 1}.get(code, 2)
        reads = (LOAD_WORD, LOAD_HALF, LOAD_HALF_INDEXED, LOAD_BYTE)
        loads = code in (*reads, LOAD_HEADER_LENGTH)
        if loads and place + width > len(packet):
            return 0
        at += 1
        match code:
            case _ if code in reads:
                value = int.from_bytes(packet[place : place + width])
            case _ if code == LOAD_HEADER_LENGTH:
                index = (packet[operand] & 15) * 4
            case _ if code == LOAD_INDEX:
                index = operand
            case _ if code == AND:
                value &= operand
            case _ if code == JUMP_ALWAYS:
                at += operand
            case _ if code == JUMP_EQUAL:
                at += true if value == operand else false
            case _ if code == JUMP_ANY_BIT:
                at += true if value & operand else false
            case _:
                assert code == RETURN
                return operand


@pytest.mark.parametrize("host", ["10.0.0.2", "fd00::2"])
def test_packets_of_the_ports_pass_in_both_directions_and_others_do_not(host: str) -> None:
    """The rest of the traffic of a host never comes here."""
    program = packet_filter([8080, 8000])
    for source, target, passes in ((40000, 8000, True), (8080, 40000, True), (40000, 22, False)):
        packet = tcp((host, source), (host, target), payload=b"x")
        assert kept(program, packet) == (SNAP_BYTES if passes else 0)


@pytest.mark.parametrize("host", ["10.0.0.2", "fd00::2"])
def test_whatever_an_address_sends_and_gets_passes(host: str) -> None:
    """At any port; others of the same network do not."""
    near = host[:-1] + "3"
    program = packet_filter([8000], [ip_address("10.0.0.2").packed, ip_address("fd00::2").packed])
    for source, target, passes in ((host, near, True), (near, host, True), (near, near, False)):
        packet = tcp((source, 40000), (target, 9999))
        assert kept(program, packet) == (SNAP_BYTES if passes else 0)
    assert kept(program, tcp((near, 40000), (near, 8000))) == SNAP_BYTES


def test_datagrams_and_later_fragments_stay_out() -> None:
    """They have no TCP ports."""
    program = packet_filter([8000])
    body = tcp(("10.0.0.2", 8000), ("10.0.0.3", 8000))[20:]
    datagram = internet("10.0.0.2", "10.0.0.3", 17, body)
    later = bytearray(internet("10.0.0.2", "10.0.0.3", 6, body))
    later[6:8] = b"\0\4"
    assert [kept(program, bytes(p)) for p in (datagram, later, b"", b"\x45")] == [0, 0, 0, 0]


def test_a_routers_message_passes() -> None:
    """It may say that a packet did not fit."""
    assert kept(packet_filter([8000]), internet("10.0.0.2", "10.0.0.3", 1, bytes(40)))
    assert kept(packet_filter([8000]), internet("fd00::2", "fd00::3", 58, bytes(40)))


def test_no_jump_of_the_longest_program_is_too_far() -> None:
    """An offset has eight bits."""
    program = packet_filter(range(1000, 1000 + PORTS_MAX))
    assert all(0 <= jump <= 255 for _, true, false, _ in program for jump in (true, false))
    both = [bytes([n]) * size for n in range(1, 51) for size in (4, 16)]
    assert len(packet_filter(range(1, 101), both)) <= 4096
    last = tcp(("10.0.0.2", 5), ("10.0.0.3", 999 + PORTS_MAX))
    assert kept(program, last) == SNAP_BYTES


@pytest.mark.parametrize("ports", [[], range(PORTS_MAX + 1)], ids=["none", "too many"])
def test_what_no_program_can_hold_is_refused(ports: Sequence[int]) -> None:
    """Without a port everything would pass."""
    with pytest.raises(ValueError, match="ports"):
        packet_filter(ports)


@given(st.binary(max_size=80))
def test_the_program_ends_for_any_packet(content: bytes) -> None:
    """And keeps all of the beginning, or nothing."""
    assert kept(packet_filter([8000]), content) in (0, SNAP_BYTES)
