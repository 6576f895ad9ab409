"""Packets captured for a whole run and folded into connections; told scene by scene.

A capture that began with each scene would know less of the connections that hops keep. It must not
slow the probes of the same process down: a few packets are folded at a time, and after each such
turn it rests for longer than that took; what then comes too fast is dropped, and counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Iterable, Iterator
from ipaddress import ip_address
from typing import Any, Protocol, TypeVar

from exonerate.adapters.clock import StampClock
from exonerate.adapters.packet_ring import Captured, PacketRing
from exonerate.adapters.player import Stage
from exonerate.core.instant import NS_PER_S
from exonerate.core.ports import Clock
from exonerate.core.scene import Activity, WatchPackets
from exonerate.core.wire.packets.connections import PacketTable
from exonerate.core.wire.packets.filter import ADDRESSES_MAX, PORTS_MAX, packet_filter
from exonerate.core.wire.packets.seen import Capture, PacketConnection, capture_to_json
from exonerate.core.wire.packets.segment import read_packet
from exonerate.errors import ExonerateError

T = TypeVar("T")


class Packets(Protocol):
    """Where packets come from: a `PacketRing`."""

    def packets(self, packets_max: int) -> Iterator[Captured]:
        """What has come, oldest first, at most so many."""

    def count_dropped(self) -> int:
        """How many had no room since the beginning."""


PACKETS_AT_ONCE = 128
REST_SHARE, REST_S_MIN = 3.0, 0.01
"""A rest is this many times as long as the work before it."""
LAST_LOOK_MAX = 4096
CONNECTIONS_TOLD_MAX = 400


class StandingCapture:
    """A capture that runs from the first scene to the last, and the performer that tells of it."""

    def __init__(
        self, ring: Packets, ports: Iterable[int], clock: Clock, *, addresses: Iterable[str] = ()
    ) -> None:
        self._ring = ring
        self._addresses = tuple(addresses)
        self._table = PacketTable(ports, map(_packed, self._addresses))
        self._clock = clock
        self._stamps = StampClock()

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the capture run while the work is done.

        Raises:
            ExonerateError: as the work does.
        """
        reading = asyncio.ensure_future(self._read())
        try:
            return await work
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``packets`` event at the end of the scene: what was seen since its beginning."""
        assert isinstance(activity, WatchPackets)
        begun_ns = stage.clock.now()
        counted = (self._table.packets, self._ring.count_dropped(), self._table.forgotten)
        try:
            await asyncio.Event().wait()
        finally:
            # A packet that the kernel has is in the ring by now.
            self._take(LAST_LOOK_MAX)
            capture = self._capture(begun_ns, counted)
            stage.emit(activity.name, "packets", capture_to_json(capture))

    def _capture(self, since_ns: int, counted: tuple[int, int, int]) -> Capture:
        packets, dropped, forgotten = counted
        seen = sorted(self._table.connections(since_ns), key=_dearest)
        return Capture(
            since_ns=since_ns,
            until_ns=self._clock.now(),
            packets=self._table.packets - packets,
            dropped=self._ring.count_dropped() - dropped,
            left_out=max(0, len(seen) - CONNECTIONS_TOLD_MAX) + self._table.forgotten - forgotten,
            clock_steps=self._stamps.steps,
            addresses=self._addresses,
            connections=tuple(seen[:CONNECTIONS_TOLD_MAX]),
        )

    async def _read(self) -> None:
        while True:
            begun_ns = self._clock.now()
            self._take(PACKETS_AT_ONCE)
            worked_s = (self._clock.now() - begun_ns) / NS_PER_S
            await asyncio.sleep(max(REST_S_MIN, worked_s * REST_SHARE))

    def _take(self, packets_max: int) -> None:
        self._stamps.resync(self._clock.now())
        for captured in self._ring.packets(packets_max):
            packet = read_packet(captured.content, captured.length)
            if packet is not None:
                at_ns = self._stamps.monotonic_ns(captured.wall_ns)
                self._table.take(packet, at_ns, captured.vantage)

    def look(self, lasting_s: float) -> Capture:
        """What comes within this time; for whoever has no loop to read in."""
        begun_ns = self._clock.now()
        counted = (self._table.packets, self._ring.count_dropped(), self._table.forgotten)
        time.sleep(lasting_s)
        self._take(LAST_LOOK_MAX)
        return self._capture(begun_ns, counted)


@contextlib.contextmanager
def open_capture(
    ports: Iterable[int], clock: Clock, *, addresses: Iterable[str] = ()
) -> Iterator[StandingCapture]:
    """Begin to capture what goes to and comes from these ports, or addresses, until leaving.

    Raises:
        ExonerateError: this process may not, or there are too many ports.
    """
    wanted = frozenset(ports)
    watched = sorted(set(addresses))[:ADDRESSES_MAX]
    if len(wanted) > PORTS_MAX:
        raise ExonerateError(
            f"packets of {len(wanted)} ports cannot be captured, only of {PORTS_MAX}",
            "leave `--packets` out",
        )
    program = packet_filter(wanted, [_packed(address) for address in watched])
    with contextlib.closing(PacketRing(program)) as ring:
        yield StandingCapture(ring, wanted, clock, addresses=watched)


def _packed(address: str) -> bytes:
    return ip_address(address).packed


def _dearest(connection: PacketConnection) -> tuple[bool, int]:
    """Those that carried requests of ours first, then the newest."""
    ours = any(turn.ids or turn.words for turn in connection.turns)
    return not ours, -connection.last_ns
