"""What was seen of the victim's own program: what crossed the tap, and how the program stood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from exonerate.core.instant import seconds_between
from exonerate.core.json_access import number_at, object_of, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import Event
from exonerate.core.wire.tapped import (
    TappedConnection,
    TappedExchange,
    tapped_connection_from_json,
    tapped_exchange_from_json,
)

OBSERVE_SCENE = "observe-1"
"""The scene in which the victim's own program runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSocket:
    """A socket of the program."""

    local_port: int
    peer: str
    peer_port: int
    state: str
    unread_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSample:
    """The program and everything it started, at one moment."""

    at_ns: int
    sockets: tuple[OwnSocket, ...]
    cpu_s: float
    waits: tuple[str, ...]
    """What each thread waits in, as the kernel calls it; `running` for one that runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One run of the victim's program through a tap."""

    exchanges: tuple[TappedExchange, ...]
    connections: tuple[TappedConnection, ...]
    samples: tuple[ProgramSample, ...]
    began_ns: int
    ended_ns: int
    started: bool
    status: int | None
    """The program's exit status; negative: the signal that ended it."""
    ended_by: str
    """`itself`, `interrupt`, `limit`, or `unknown` where the record was cut off."""
    proxies: Mapping[str, str]
    """The proxies that its environment names: variable -> host:port."""
    tap_port: int

    @property
    def rounds(self) -> tuple[TappedExchange, ...]:
        """What it asked of a model, in the order in which it asked."""
        asked = (e for e in self.exchanges if e.is_completion)
        return tuple(sorted(asked, key=lambda e: e.exchange.begun_ns))

    @property
    def went_well(self) -> bool:
        """The program itself says that all was well."""
        return self.ended_by == "itself" and self.status == 0

    @property
    def last_moved_ns(self) -> int:
        """When the last byte crossed the tap."""
        moved = [c.last_byte_ns for c in self.connections if c.last_byte_ns is not None]
        return max(moved, default=self.began_ns)

    @property
    def still_s(self) -> float:
        """How long nothing had crossed when the program ended or was ended."""
        return seconds_between(self.last_moved_ns, self.ended_ns)

    @property
    def still_samples(self) -> tuple[ProgramSample, ...]:
        """The samples of that last silence."""
        return tuple(s for s in self.samples if s.at_ns > self.last_moved_ns)

    def pauses_s(self) -> list[float]:
        """The times between rounds in which the program asked nothing."""
        rounds = self.rounds
        ends: list[int] = []
        pauses: list[float] = []
        for earlier, later in pairwise(rounds):
            ends.append(earlier.exchange.ended_ns)
            if later.exchange.begun_ns >= max(ends):
                pauses.append(seconds_between(max(ends), later.exchange.begun_ns))
        return pauses


def read_observed(events: Sequence[Event], tap_port: int) -> Observed:
    """The run that the events of its scene describe."""
    started = _first(events, "program_started")
    ended = _first(events, "program_ended")
    stamps = [event.at_ns for event in events]
    data = ended.data if ended is not None else {}
    status = data.get("status")
    return Observed(
        exchanges=tuple(
            tapped_exchange_from_json(e.data) for e in events if e.kind == "tap_exchange"
        ),
        connections=tuple(
            tapped_connection_from_json(e.data) for e in events if e.kind == "tap_connection"
        ),
        samples=tuple(_sample(e) for e in events if e.kind == "program_sampled"),
        began_ns=started.at_ns if started is not None else min(stamps, default=0),
        ended_ns=_end_of_watching(events, ended),
        started=started is not None,
        status=status if isinstance(status, int) else None,
        ended_by=text_at(data, "by") or "unknown",
        proxies=_texts(started.data.get("proxies") if started is not None else None),
        tap_port=tap_port,
    )


def _end_of_watching(events: Sequence[Event], ended: Event | None) -> int:
    """The last moment at which the program was left alone: when it ended, or we ended it."""
    if ended is None:
        return max((event.at_ns for event in events), default=0)
    if ended.data.get("by") == "itself":
        return ended.at_ns
    sampled = [e.at_ns for e in events if e.kind == "program_sampled" and e.at_ns <= ended.at_ns]
    return max(sampled, default=ended.at_ns)


def _sample(event: Event) -> ProgramSample:
    sockets = [object_of(row) for row in _items(event.data.get("sockets"))]
    threads = [object_of(row) for row in _items(event.data.get("threads"))]
    return ProgramSample(
        at_ns=event.at_ns,
        sockets=tuple(
            OwnSocket(
                local_port=int(number_at(row, "local_port") or 0),
                peer=text_at(row, "peer") or "",
                peer_port=int(number_at(row, "peer_port") or 0),
                state=text_at(row, "state") or "",
                unread_bytes=int(number_at(row, "unread_bytes") or 0),
            )
            for row in sockets
        ),
        cpu_s=number_at(event.data, "cpu_s") or 0.0,
        waits=tuple(_wait_of(thread) for thread in threads),
    )


def _wait_of(thread: JsonObject) -> str:
    if text_at(thread, "state") == "R":
        return "running"
    return text_at(thread, "waits_in") or "unknown"


def _first(events: Iterable[Event], kind: str) -> Event | None:
    return next((event for event in events if event.kind == kind), None)


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: Json) -> dict[str, str]:
    return {name: text for name in object_of(value) if (text := text_at(value, name)) is not None}


def own_unread_bytes(sample: ProgramSample, tapped: TappedExchange, tap_port: int) -> int:
    """What the program had not yet read of the connection that carried an exchange."""
    port = tapped.exchange.connection.local_port
    rows = (s for s in sample.sockets if s.local_port == port and s.peer_port == tap_port)
    return sum(row.unread_bytes for row in rows)


def whole_answer(tapped: TappedExchange) -> bool:
    """Whether a whole answer had crossed, good or not."""
    return tapped.how == "framed" and tapped.exchange.body_complete and tapped.ended_by == "nobody"
