"""What was seen beside the probes and the sockets, as typed facts: logs, taps, counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from exonerate.core.diagnosis.gpu_readings import GpuState, gpu_from_json
from exonerate.core.diagnosis.logs.engine import EngineLine, engine_line_from_json
from exonerate.core.diagnosis.logs.entry import LogEntry, entry_from_json
from exonerate.core.diagnosis.logs.matching import LogLine
from exonerate.core.instant import NS_PER_S
from exonerate.core.json_access import count_at, number_at, object_of, text_at
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import Event
from exonerate.core.wire.packets.seen import Capture, PacketConnection, Turn, capture_from_json
from exonerate.core.wire.tapped import TappedExchange, tapped_exchange_from_json

HEALTH = "health@"
"""Begins the name of a reading of a health page."""
SETTINGS = "settings@"
"""Begins the name of a reading of an engine's own settings."""
ERROR_LOG = "error-log@"
"""Begins the name of a reading of a second log: most of its lines are about no request."""
TAP = "tap@"
"""Begins the name of a tap before a hop further in; the one at the client has another name."""


@dataclass(frozen=True, slots=True)
class LogState:
    """How well a hop's log could be read."""

    lines: int = 0
    unknown_lines: int = 0
    skipped_bytes: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class EngineSaid:
    """A line of an engine's log, and when it was read: at most a reading's distance later."""

    hop: str
    line: EngineLine
    at_ns: int


@dataclass(frozen=True, slots=True)
class KernelSign:
    """A message of the kernel about a GPU or about memory, with its moment on our clock."""

    word: str
    code: int
    bus: str | None
    at_ns: float


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One reading of this host's GPUs, and what the kernel said since the one before."""

    at_ns: int
    gpus: tuple[GpuState, ...] = ()
    error: str | None = None
    kernel: tuple[KernelSign, ...] = ()
    kernel_unread: str | None = None


@dataclass(frozen=True, slots=True)
class PageSample:
    """One reading of a hop's page of counters; `values` is None where it did not answer."""

    hop: str
    at_ns: int
    kind: str | None
    values: Mapping[str, float] | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Everything of one run; by hop where it is about a hop's state."""

    log_lines: tuple[LogLine, ...] = ()
    logs: tuple[tuple[str, LogState], ...] = ()
    """Hop and state of each log that was to be read."""
    tapped: tuple[TappedExchange, ...] = ()
    """What crossed taps before hops; an exchange that was open at the end of a scene comes again
    when it is over."""
    pages: tuple[PageSample, ...] = ()
    """Readings of engines' and proxies' pages, in the order of their stamps."""
    captures: tuple[Capture, ...] = ()
    """What packets showed, scene by scene."""
    passed: Mapping[str, tuple[tuple[PacketConnection, Turn], ...]] = field(default_factory=dict)
    """Our own request ids, and where packets showed them; each as it was last seen."""
    health: tuple[PageSample, ...] = ()
    """Readings of health pages; `values` is None where it was not 200."""
    settings: tuple[PageSample, ...] = ()
    """What engines said of their own settings."""
    engines_said: tuple[EngineSaid, ...] = ()
    """What engines wrote of themselves into their logs."""
    gpus: tuple[GpuSample, ...] = ()
    """Readings of this host's GPUs, in the order of their stamps."""


def read_beside(events: Sequence[Event]) -> Beside:
    """The facts in the events of all scenes."""
    lines: list[LogLine] = []
    states: dict[tuple[str, str], LogState] = {}
    engines_said: list[EngineSaid] = []
    for event in events:
        if event.kind == "log":
            lines.extend(_lines(event))
            engines_said.extend(_engines_said(event))
            key = (str(event.data["hop"]), event.activity)
            known = {"unknown_lines": 0} if event.activity.startswith(ERROR_LOG) else {}
            states[key] = _added(states.get(key, LogState()), {**event.data, **known})
    captures = tuple(capture_from_json(e.data) for e in events if e.kind == "packets")
    return Beside(
        log_lines=tuple(lines),
        logs=tuple((hop, state) for (hop, _), state in states.items()),
        tapped=tuple(
            tapped_exchange_from_json(event.data)
            for event in events
            if event.kind == "tap_exchange" and event.activity.startswith(TAP)
        ),
        pages=tuple(_page(e) for e in events if e.kind == "metrics" and has_counters(e)),
        health=tuple(_page(e) for e in events if _is_reading(e, HEALTH)),
        settings=tuple(_page(e) for e in events if _is_reading(e, SETTINGS)),
        engines_said=tuple(engines_said),
        captures=captures,
        passed=_passed(captures),
        gpus=tuple(_gpus(event) for event in events if event.kind == "gpus"),
    )


def has_counters(event: Event) -> bool:
    """Whether a reading was of a page of counters, and not of a health or settings page."""
    return not event.activity.startswith((HEALTH, SETTINGS))


def _is_reading(event: Event, of: str) -> bool:
    return event.kind == "metrics" and event.activity.startswith(of)


def _passed(
    captures: Sequence[Capture],
) -> dict[str, tuple[tuple[PacketConnection, Turn], ...]]:
    found: dict[str, dict[tuple[int, str, int, int], tuple[PacketConnection, Turn]]] = {}
    for capture in captures:
        for connection in capture.connections:
            for turn in connection.turns:
                place = (connection.client_port, connection.server, connection.server_port)
                for own in turn.ids:
                    key = (*place, turn.begun_ns)
                    found.setdefault(own, {})[key] = (connection, turn)
    return {own: tuple(places.values()) for own, places in found.items()}


def _page(event: Event) -> PageSample:
    values = event.data.get("values")
    numbers = (
        {name: number for name in values if (number := number_at(values, name)) is not None}
        if isinstance(values, Mapping)
        else None
    )
    return PageSample(
        hop=str(event.data["hop"]),
        at_ns=event.at_ns,
        kind=text_at(event.data, "engine"),
        values=numbers,
        error=text_at(event.data, "error"),
    )


def _lines(event: Event) -> list[LogLine]:
    entries = event.data.get("entries")
    read = [entry_from_json(object_of(value)) for value in _items(entries)]
    wall_s = number_at(event.data, "wall_s")
    hop = str(event.data["hop"])
    return [LogLine(hop, entry, _stamp(entry, wall_s, event.at_ns)) for entry in read]


def _engines_said(event: Event) -> list[EngineSaid]:
    read = [engine_line_from_json(object_of(value)) for value in _items(event.data.get("engine"))]
    return [EngineSaid(str(event.data["hop"]), line, event.at_ns) for line in read]


def _gpus(event: Event) -> GpuSample:
    kernel = [object_of(value) for value in _items(event.data.get("kernel"))]
    return GpuSample(
        at_ns=event.at_ns,
        gpus=tuple(gpu_from_json(object_of(v)) for v in _items(event.data.get("gpus"))),
        error=text_at(event.data, "error"),
        kernel=tuple(
            KernelSign(
                text_at(said, "word") or "",
                count_at(said, "code") or 0,
                text_at(said, "bus"),
                event.at_ns - (number_at(said, "age_s") or 0.0) * NS_PER_S,
            )
            for said in kernel
        ),
        kernel_unread=text_at(event.data, "kernel_unread"),
    )


def _stamp(entry: LogEntry, wall_s: float | None, at_ns: int) -> float | None:
    """The entry's wall time on our clock."""
    if entry.begun_s is None:
        # It was written since the last reading.
        return float(at_ns)
    return None if wall_s is None else at_ns + (entry.begun_s - wall_s) * NS_PER_S


def _added(state: LogState, data: JsonObject) -> LogState:
    error: str | None = text_at(data, "error")
    return LogState(
        state.lines + (count_at(data, "lines") or 0),
        state.unknown_lines + (count_at(data, "unknown_lines") or 0),
        state.skipped_bytes + (count_at(data, "skipped_bytes") or 0),
        error or state.error,
    )


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
