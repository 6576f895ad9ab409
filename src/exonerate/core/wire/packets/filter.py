"""The program that runs in the kernel on every packet: only those that were asked for come through.

Classic BPF, as `SO_ATTACH_FILTER` takes it (linux/filter.h), for packets without their link header.
A TCP packet from or to one of the ports or addresses comes with its beginning; an ICMP message,
which may say that a packet did not fit, comes as well. Later fragments have no ports and stay out.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, how many instructions to jump over when true and when false, and the operand."""

LOAD_WORD, LOAD_HALF, LOAD_BYTE = 0x20, 0x28, 0x30
LOAD_HALF_INDEXED, LOAD_HEADER_LENGTH, LOAD_INDEX = 0x48, 0xB1, 0x01
JUMP_ALWAYS, JUMP_EQUAL, JUMP_ANY_BIT, AND, RETURN = 0x05, 0x15, 0x45, 0x54, 0x06
PORTS_MAX, ADDRESSES_MAX = 100, 100
"""A program holds 4096 instructions (BPF_MAXINSNS); an address of IPv6 takes 18 of them."""
SNAP_BYTES = 1536
"""As much as one packet of an Ethernet holds: all headers, and where a request says whose it is."""


@dataclass(frozen=True, slots=True)
class _Line:
    """An instruction before its jumps are counted.

    A test jumps over one instruction where it is false; `to` is the label that a jump leads to.
    """

    code: int
    operand: int = 0
    to: str = ""
    label: str = ""
    turned: bool = False
    """Jump over one instruction where it is true."""


def packet_filter(
    ports: Iterable[int], addresses: Collection[bytes] = (), *, snap_bytes: int = SNAP_BYTES
) -> list[Instruction]:
    """The program for these ports, and for everything of these addresses of 4 or 16 bytes.

    Raises:
        ValueError: there is no port, or more than a program can hold.
    """
    wanted = sorted(set(ports))
    if not 0 < len(wanted) <= PORTS_MAX or len(addresses) > ADDRESSES_MAX:
        raise ValueError(f"{len(wanted)} ports and {len(addresses)} addresses")
    keep = _Line(RETURN, snap_bytes)
    lines = [
        _Line(LOAD_BYTE, 0),
        _Line(AND, 0xF0),
        _Line(JUMP_EQUAL, 0x40, turned=True),
        _Line(JUMP_ALWAYS, to="version 6"),
        _Line(LOAD_BYTE, 9),
        *(_Line(JUMP_EQUAL, 1), keep),
        *(_Line(JUMP_EQUAL, 6, turned=True), _Line(RETURN)),
        _Line(LOAD_HALF, 6),
        *(_Line(JUMP_ANY_BIT, 0x1FFF), _Line(RETURN)),
        *_any_address([one for one in addresses if len(one) == 4], (12, 16), keep),
        # The ports are counted from an index: here it is the length of the header.
        _Line(LOAD_HEADER_LENGTH, 0),
        _Line(JUMP_ALWAYS, to="ports"),
        _Line(JUMP_EQUAL, 0x60, label="version 6", turned=True),
        _Line(RETURN),
        _Line(LOAD_BYTE, 6),
        *(_Line(JUMP_EQUAL, 58), keep),
        *(_Line(JUMP_EQUAL, 6, turned=True), _Line(RETURN)),
        *_any_address([one for one in addresses if len(one) == 16], (8, 24), keep),
        _Line(LOAD_INDEX, 40),
        *(_Line(LOAD_HALF_INDEXED, 0, label="ports"), *_any_of(wanted, keep)),
        *(_Line(LOAD_HALF_INDEXED, 2), *_any_of(wanted, keep)),
        _Line(RETURN),
    ]
    places = {line.label: place for place, line in enumerate(lines) if line.label}
    return [_linked(line, at, places) for at, line in enumerate(lines)]


def _any_of(values: Iterable[int], keep: _Line) -> Iterable[_Line]:
    return [line for value in values for line in (_Line(JUMP_EQUAL, value), keep)]


def _any_address(addresses: Iterable[bytes], offsets: Iterable[int], keep: _Line) -> list[_Line]:
    """Whether source or target is one of these, word by word."""
    lines: list[_Line] = []
    for number, address in enumerate(addresses):
        for offset in offsets:
            other = f"not {number} at {offset}"
            for place, (word,) in enumerate(struct.iter_unpack("!I", address)):
                lines.append(_Line(LOAD_WORD, offset + 4 * place))
                lines.append(_Line(JUMP_EQUAL, word, turned=True))
                lines.append(_Line(JUMP_ALWAYS, to=other))
            # The next line may have any label of its own: this one does nothing.
            lines += [keep, _Line(LOAD_BYTE, 0, label=other)]
    return lines


def _linked(line: _Line, at: int, places: Mapping[str, int]) -> Instruction:
    if line.code == JUMP_ALWAYS:
        return line.code, 0, 0, places[line.to] - at - 1
    tests = line.code in (JUMP_EQUAL, JUMP_ANY_BIT)
    return line.code, int(tests and line.turned), int(tests and not line.turned), line.operand
