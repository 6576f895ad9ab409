"""Which lines of a hop's log are about one request of ours.

A line is matched by our request id; else by the port of our connection where the request entered
at this hop; in both cases it must have begun about when the request did. Lines of one request are
then folded into one entry: what any of them says, the later over the earlier.

Clocks: a reading of a log says which wall time it was, so that wall times turn into stamps. Some
logs write local time and do not say so: zones are whole quarters of an hour apart, so that only
what is left over counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.exchange import Exchange

ZONE_S = 900.0
NEAR_S = 1.6
"""Some logs count whole seconds, and the clock of a line is read when it is written."""
_KEPT = frozenset({"program", "is_request", "attempts", "no_worker", "begun_s"})
_FOLDED = tuple(f.name for f in fields(LogEntry) if f.name not in _KEPT)


@dataclass(frozen=True, slots=True)
class LogLine:
    """An entry with the hop whose log it is from."""

    hop: str
    entry: LogEntry
    begun_ns: float | None
    """Its wall time as a stamp of ours."""


def line_about(
    lines: Sequence[LogLine], exchange: Exchange, hop: str, *, entered_here: bool
) -> LogEntry | None:
    """Everything that the log of a hop says about one request, as one entry."""
    here = [line for line in lines if line.hop == hop and _near(line, exchange)]
    found = [line for line in here if _same_id(line, exchange)]
    port = exchange.connection.local_port
    if not found and entered_here and port is not None:
        found = [
            line
            for line in here
            if line.entry.client_port == port and line.entry.request_id is None
        ]
    if not found:
        return None
    return folded(line.entry for line in [*found, *_joined(here, found)])


def folded(entries: Iterable[LogEntry]) -> LogEntry:
    """Several lines about one request as one entry.

    A later line says more; but "a regular end" takes nothing back that another line saw.
    """
    whole: LogEntry | None = None
    for entry in entries:
        whole = entry if whole is None else _onto(whole, entry)
    assert whole is not None
    return whole


def _onto(whole: LogEntry, entry: LogEntry) -> LogEntry:
    values: dict[str, object] = {}
    for name in _FOLDED:
        value = getattr(entry, name)
        regular = name == "end" and value == "---"
        if value is not None and not (regular and whole.end is not None):
            values[name] = value
    if whole.dialled and entry.dialled is False:
        values.pop("dialled")
    values["is_request"] = whole.is_request or entry.is_request
    values["attempts"] = _attempts(whole, entry)
    values["no_worker"] = whole.no_worker or entry.no_worker
    return replace(whole, **values)  # type: ignore[arg-type]  # names and values of its fields


def _attempts(whole: LogEntry, entry: LogEntry) -> int:
    """Events are counted; what a line about the whole request says is the count."""
    if whole.is_request or entry.is_request:
        return max(whole.attempts, entry.attempts)
    return whole.attempts + entry.attempts


def _same_id(line: LogLine, exchange: Exchange) -> bool:
    return bool(exchange.request_id) and line.entry.request_id == exchange.request_id


def _joined(here: Sequence[LogLine], found: Sequence[LogLine]) -> list[LogLine]:
    """Lines of another file about the same connection of the same program, without an id."""
    numbers = {line.entry.connection for line in found} - {None}
    return [
        line
        for line in here
        if line.entry.connection in numbers
        and not line.entry.is_request
        and line not in found
        and _together(line.entry, found)
    ]


def _together(event: LogEntry, found: Sequence[LogLine]) -> bool:
    """Whether an event happened while one of these requests lasted."""
    for line in found:
        begun, total = line.entry.begun_s, line.entry.total_s or 0.0
        if begun is None or event.begun_s is None:
            continue
        after = _apart(event.begun_s, begun)
        if -1.0 <= after <= total + 1.0:
            return True
    return False


def _near(line: LogLine, exchange: Exchange) -> bool:
    """Whether a line falls into the time of an exchange; one without a time may."""
    if line.begun_ns is None:
        return True
    begun_s = _apart(line.begun_ns / NS_PER_S, exchange.begun_ns / NS_PER_S)
    lasted_s = (exchange.ended_ns - exchange.begun_ns) / NS_PER_S
    return -NEAR_S <= begun_s <= lasted_s + NEAR_S


def _apart(later_s: float, earlier_s: float) -> float:
    """Seconds between, with whole quarters of an hour taken out."""
    apart = (later_s - earlier_s) % ZONE_S
    return apart - ZONE_S if apart > ZONE_S / 2 else apart
