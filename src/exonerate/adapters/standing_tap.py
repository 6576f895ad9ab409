"""Taps that stand between hops for a whole run, and what crossed them, scene by scene.

A tap that came and went with each scene would close the connections that the hop before it keeps,
which changes the very thing that is looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakSet

from exonerate.adapters.address import Address, parse_address
from exonerate.adapters.player import Stage
from exonerate.adapters.tap import TapEars, run_tap, tap_listener
from exonerate.core.ports import Clock
from exonerate.core.scene import Activity, Tap
from exonerate.core.wire.tapped import (
    ConnectionReducer,
    TappedExchange,
    tapped_exchange_to_json,
)
from exonerate.errors import ExonerateError

T = TypeVar("T")
EVERY_S = 0.2
GRACE_S = 0.3
"""The hop before the tap needs a moment to end what the client has given up."""


@dataclass(slots=True)
class StandingTap:
    """One tap: relays from the first scene to the last, and keeps what it saw until asked."""

    hop: str
    listener: socket.socket
    upstream: Address
    clock: Clock
    seen: list[TappedExchange] = field(default_factory=list)
    open: WeakSet[ConnectionReducer] = field(default_factory=WeakSet)

    async def relay(self) -> None:
        """Pass connections on until cancelled."""
        ears = TapEars(
            exchange=self.seen.append, connection=lambda seen: None, opened=self.open.add
        )
        await run_tap(self.listener, self.upstream, hop=self.hop, clock=self.clock, ears=ears)

    def taken(self) -> list[TappedExchange]:
        """What is over since the last time."""
        over = list(self.seen)
        self.seen.clear()
        return over

    def under_way(self) -> list[TappedExchange]:
        """What crosses now."""
        now = self.clock.now()
        found = [reducer.under_way(now) for reducer in list(self.open)]
        return [exchange for exchange in found if exchange is not None]


class StandingTaps:
    """All taps of a deployment, and the performer of the `Tap` activities that listen to them."""

    def __init__(self, taps: Sequence[StandingTap]) -> None:
        self._taps = {tap.hop: tap for tap in taps}

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the taps stand while the work is done.

        Raises:
            ExonerateError: as the work does.
        """
        failure: ExonerateError | None = None
        result: list[T] = []
        async with asyncio.TaskGroup() as group:
            relays = [group.create_task(tap.relay()) for tap in self._taps.values()]
            try:
                result.append(await work)
            except ExonerateError as error:
                failure = error
            finally:
                for relay in relays:
                    relay.cancel()
        if failure is not None:
            raise failure
        return result[0]

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``tap_exchange`` for each exchange as it ends, and for each that is still open."""
        assert isinstance(activity, Tap)
        tap = self._taps[activity.hop]
        tap.taken()
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                _tell(activity, stage, tap.taken())
        except asyncio.CancelledError:
            await asyncio.sleep(GRACE_S)
            _tell(activity, stage, tap.taken())
            _tell(activity, stage, tap.under_way())
            raise


@contextlib.contextmanager
def open_taps(
    wanted: Sequence[Tap], addresses: Mapping[str, str], clock: Clock
) -> Iterator[StandingTaps]:
    """Open the taps' ports; they are closed on leaving.

    Args:
        wanted: the taps of the deployment.
        addresses: hop name -> where its tap listens.

    Raises:
        ExonerateError: an address is taken or not ours, or the hop speaks TLS.
    """
    with contextlib.ExitStack() as stack:
        taps = []
        for tap in wanted:
            upstream = parse_address(tap.upstream_url)
            if upstream.secure:
                raise ExonerateError(
                    f"a tap cannot stand before `{tap.upstream_url}`: what crosses it is encrypted",
                    f"take `tap` of hop `{tap.hop}` out, or name the hop's plain address",
                )
            place = parse_address(addresses[tap.hop])
            listener = tap_listener(place.host, place.port)
            stack.callback(listener.close)
            taps.append(StandingTap(tap.hop, listener, upstream, clock))
        yield StandingTaps(taps)


def _tell(activity: Tap, stage: Stage, exchanges: Sequence[TappedExchange]) -> None:
    for exchange in exchanges:
        if exchange.asked.request_id is not None:
            stage.emit(activity.name, "tap_exchange", tapped_exchange_to_json(exchange))
