"""Caddy's JSON logs: "handled request" of its access log, and what `reverse_proxy` says.

At its default level Caddy logs a broken answer as a warning; with `level DEBUG` every round trip
to the next hop. Names of messages and fields as Caddy 2.11 writes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.diagnosis.logs.entry import (
    LogEntry,
    address_of,
    is_foreign,
    number_of,
    own_id,
    path_of,
    port_of,
    relayed,
    whole_of,
)
from exonerate.core.json_access import at, object_of, parse_json
from exonerate.core.json_types import JsonObject

_CAUSES: tuple[tuple[str, str], ...] = (
    ("no upstreams available", "hXQ"),
    ("dial tcp", "sXK"),
    ("timeout awaiting response headers", "sZH"),
    ("i/o timeout", "sZ"),
    ("context canceled", "cF"),
    ("context deadline exceeded", "hF"),
    ("unexpected EOF", "sF"),
    ("connection reset by peer", "sR"),
    ("EOF", "sF"),
)
_PROXY = "http.handlers.reverse_proxy"
_EVENTS: Mapping[str, str] = {
    "upstream roundtrip": "H",
    "aborting with incomplete response": "D",
}
"""What `reverse_proxy` says, and the phase in which an error in it happened."""


def parse_caddy(line: str) -> LogEntry | None:
    """One JSON line; None for what is not about a request."""
    row = object_of(parse_json(line)) if line.startswith("{") else {}
    logger, message = row.get("logger"), row.get("msg")
    if not isinstance(logger, str) or not isinstance(message, str) or not at(row, "request"):
        return None
    if logger.startswith("http.log.access") and message == "handled request":
        return _access(row)
    if logger == _PROXY and message in _EVENTS:
        return _event(row, _text(row.get("error")), _EVENTS[message])
    if logger.startswith("http.log.error"):
        return _event(row, message, "H")
    return None


def _access(row: JsonObject) -> LogEntry:
    """Caddy says nothing of the next hop here; its other lines do."""
    status = whole_of(row.get("status"))
    ended_s, total_s = number_of(row.get("ts")), number_of(row.get("duration")) or None
    return LogEntry(
        program="caddy",
        request_id=own_id(_request_id(row)),
        foreign=is_foreign(_request_id(row)),
        client_port=port_of(at(row, "request", "remote_port")),
        path=path_of(at(row, "request", "uri")),
        begun_s=None if ended_s is None else round(ended_s - (total_s or 0.0), 4),
        total_s=total_s,
        status=status,
        sent_bytes=whole_of(row.get("size")),
        end="cFH" if status == 499 else None,
    )


def _event(row: JsonObject, error: str, phase: str) -> LogEntry:
    code = next((code for phrase, code in _CAUSES if phrase in error), None)
    status = whole_of(row.get("status"))
    end = relayed(status) if code is None else code + (phase if len(code) == 2 else "")
    nobody = end == "hXQ"
    upstream = address_of(row.get("upstream"))
    return LogEntry(
        program="caddy",
        is_request=False,
        request_id=own_id(_request_id(row)),
        foreign=is_foreign(_request_id(row)),
        client_port=port_of(at(row, "request", "remote_port")),
        path=path_of(at(row, "request", "uri")),
        begun_s=number_of(row.get("ts")),
        head_s=number_of(row.get("duration")) if phase == "D" or code is None else None,
        dialled=False if nobody else True if upstream or code else None,
        upstream=upstream,
        attempts=1 if upstream and phase == "H" else 0,
        upstream_status=status if code is None else None,
        end=end,
        no_worker=nobody,
    )


def _request_id(row: JsonObject) -> object:
    return at(row, "request", "headers", "X-Request-Id", 0)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
