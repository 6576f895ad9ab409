"""Packets of every interface of this host, from a ring of memory that the kernel writes.

A packet socket (packet(7)) with a filter attached before it is bound, so that nothing but what the
filter lets through ever comes here, and a ring (`PACKET_RX_RING`, version 2): the kernel copies the
beginning of each packet there, stamped with the wall clock, and counts what had no room.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.packets.connections import Vantage
from exonerate.core.wire.packets.filter import Instruction
from exonerate.errors import ExonerateError

# linux/if_packet.h, linux/if_ether.h, linux/if_arp.h, linux/sockios.h, linux/ethtool.h; Python's
# socket module does not name them.
SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V2 = 263, 5, 6, 10, 1
ETH_P_ALL, ARPHRD_LOOPBACK, PACKET_OUTGOING = 0x0003, 772, 4
TP_STATUS_KERNEL, TP_STATUS_USER = 0, 1
SO_ATTACH_FILTER = 26
SIOCETHTOOL, ETHTOOL_GDRVINFO, DRIVER_INFO_BYTES = 0x8946, 3, 196

FRAME_BYTES, BLOCK_BYTES, BLOCKS = 2048, 1 << 17, 64
FRAMES = BLOCK_BYTES * BLOCKS // FRAME_BYTES
"""4096 packets, 8 MiB: 0.4 s of 10,000 packets a second."""
_HEADER = struct.Struct("=IIIHHIIHH4x")
"""Status, length, captured, place of the link header, of the network header, seconds, ns."""
_LINK_ADDRESS = struct.Struct("=HHiHBB8s")
_LINK_OFFSET = 32  # TPACKET_ALIGN(sizeof(struct tpacket2_hdr))


@dataclass(frozen=True, slots=True)
class Captured:
    """One packet from its network header on, as much of it as was captured."""

    content: bytes
    length: int
    """On the wire."""
    wall_ns: int
    vantage: Vantage


class PacketRing:
    """An open packet socket and its ring.

    Args:
        program: the filter.

    Raises:
        ExonerateError: this process may not capture packets.
    """

    def __init__(self, program: Sequence[Instruction]) -> None:
        self._at = 0
        self._near: dict[int, bool] = {}
        self.dropped = 0
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        except OSError as error:
            raise _refused(error) from error
        try:
            _attach(self._socket, program)
            self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
            ring = struct.pack("=IIII", BLOCK_BYTES, BLOCKS, FRAME_BYTES, FRAMES)
            self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
            self._memory = mmap.mmap(self._socket.fileno(), BLOCK_BYTES * BLOCKS)
            _bind_everywhere(self._socket)
        except OSError as error:
            self._socket.close()
            raise _refused(error) from error

    def fileno(self) -> int:
        """For waiting until there is something to read."""
        return self._socket.fileno()

    def close(self) -> None:
        """Stop capturing."""
        self._memory.close()
        self._socket.close()

    def packets(self, packets_max: int) -> Iterator[Captured]:
        """What has come, oldest first, at most so many; their places are the kernel's again."""
        for _ in range(packets_max):
            place = self._at * FRAME_BYTES
            status, length, size, _, network, seconds, nanoseconds, *_ = _HEADER.unpack_from(
                self._memory, place
            )
            if not status & TP_STATUS_USER:
                return
            begin = place + network
            link = _LINK_ADDRESS.unpack_from(self._memory, place + _LINK_OFFSET)
            yield Captured(
                content=self._memory[begin : begin + size],
                length=length,
                wall_ns=seconds * NS_PER_S + nanoseconds,
                vantage=self._vantage(interface=link[2], hardware=link[3], kind=link[4]),
            )
            struct.pack_into("=I", self._memory, place, TP_STATUS_KERNEL)
            self._at = (self._at + 1) % FRAMES

    def count_dropped(self) -> int:
        """How many packets had no room since the beginning."""
        counts = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        # The kernel counts from 0 again with every question.
        self.dropped += struct.unpack("=II", counts)[1]
        return self.dropped

    def _vantage(self, *, interface: int, hardware: int, kind: int) -> Vantage:
        leaving = kind == PACKET_OUTGOING
        if interface not in self._near:
            self._near[interface] = hardware == ARPHRD_LOOPBACK or self._is_cable(interface)
        # What leaves here without having passed a router was sent by this kernel.
        return Vantage(interface, leaving, leaving or self._near[interface])

    def _is_cable(self, interface: int) -> bool:
        """Whether it is our end of a virtual cable into another network namespace."""
        answer = ctypes.create_string_buffer(struct.pack("=I", ETHTOOL_GDRVINFO), DRIVER_INFO_BYTES)
        try:
            name = socket.if_indextoname(interface).encode()
            asked = struct.pack("16sP16x", name, ctypes.addressof(answer))
            fcntl.ioctl(self._socket.fileno(), SIOCETHTOOL, asked)
        except OSError:
            return False
        return answer.raw[4:36].rstrip(b"\0") == b"veth"


def _attach(sock: socket.socket, program: Sequence[Instruction]) -> None:
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    descriptor = struct.pack("HP", len(program), ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, descriptor)


def _bind_everywhere(sock: socket.socket) -> None:
    """Begin to capture on every interface; Python's own `bind` wants the name of one."""
    library = ctypes.CDLL(None, use_errno=True)
    address = _LINK_ADDRESS.pack(socket.AF_PACKET, socket.htons(ETH_P_ALL), 0, 0, 0, 0, b"")
    if library.bind(sock.fileno(), address, len(address)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _refused(error: OSError) -> ExonerateError:
    if error.errno in (errno.EPERM, errno.EACCES):
        return ExonerateError(
            "packets cannot be captured: that needs root, or the capability CAP_NET_RAW",
            "run it with `sudo`, or leave `--packets` out",
        )
    return ExonerateError(
        f"packets cannot be captured here: {error.strerror}", "leave `--packets` out"
    )
