"""The program that runs in the kernel on every packet: only those of some TCP ports come through.

Classic BPF, as `SO_ATTACH_FILTER` takes it (linux/filter.h), for packets without their link header.
A packet from or to one of the ports comes with its beginning; an ICMP message, which may say that a
packet did not fit, comes as well. Later fragments have no ports, and stay out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, how many instructions to jump over when true and when false, and the operand."""

LOAD_HALF, LOAD_BYTE = 0x28, 0x30
LOAD_HALF_INDEXED, LOAD_HEADER_LENGTH, LOAD_INDEX = 0x48, 0xB1, 0x01
JUMP_ALWAYS, JUMP_EQUAL, JUMP_ANY_BIT, AND, RETURN = 0x05, 0x15, 0x45, 0x54, 0x06
PORTS_MAX = 100
"""A jump reaches over 255 instructions."""
SNAP_BYTES = 1536
"""As much as one packet of an Ethernet holds: all headers, and where a request says whose it is."""


@dataclass(frozen=True, slots=True)
class _Line:
    """An instruction before its jumps are counted; they lead to labels, "" to the next line."""

    code: int
    operand: int = 0
    true: str = ""
    false: str = ""
    label: str = ""


def packet_filter(ports: Iterable[int], *, snap_bytes: int = SNAP_BYTES) -> list[Instruction]:
    """The program for these ports.

    Raises:
        ValueError: there is no port, or more than a program can hold.
    """
    wanted = sorted(set(ports))
    if not 0 < len(wanted) <= PORTS_MAX:
        raise ValueError(f"{len(wanted)} ports")
    lines = [
        _Line(LOAD_BYTE, 0),
        _Line(AND, 0xF0),
        _Line(JUMP_EQUAL, 0x40, false="version 6"),
        _Line(LOAD_BYTE, 9),
        _Line(JUMP_EQUAL, 1, true="keep"),
        _Line(JUMP_EQUAL, 6, false="drop"),
        _Line(LOAD_HALF, 6),
        _Line(JUMP_ANY_BIT, 0x1FFF, true="drop"),
        # The ports are counted from an index: here it is the length of the header.
        _Line(LOAD_HEADER_LENGTH, 0),
        _Line(JUMP_ALWAYS, true="ports"),
        _Line(JUMP_EQUAL, 0x60, false="drop", label="version 6"),
        _Line(LOAD_BYTE, 6),
        _Line(JUMP_EQUAL, 58, true="keep"),
        _Line(JUMP_EQUAL, 6, false="drop"),
        _Line(LOAD_INDEX, 40),
        _Line(LOAD_HALF_INDEXED, 0, label="ports"),
        *(_Line(JUMP_EQUAL, port, true="keep") for port in wanted),
        _Line(LOAD_HALF_INDEXED, 2),
        *(_Line(JUMP_EQUAL, port, true="keep") for port in wanted),
        _Line(RETURN, 0, label="drop"),
        _Line(RETURN, snap_bytes, label="keep"),
    ]
    places = {line.label: place for place, line in enumerate(lines) if line.label}
    return [_linked(line, at, places) for at, line in enumerate(lines)]


def _linked(line: _Line, at: int, places: Mapping[str, int]) -> Instruction:
    true, false = (places[label] - at - 1 if label else 0 for label in (line.true, line.false))
    if line.code == JUMP_ALWAYS:
        return line.code, 0, 0, true
    return line.code, true, false, line.operand
