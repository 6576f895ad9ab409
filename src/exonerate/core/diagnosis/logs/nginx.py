"""nginx: its access log in the format that docs/logs.md gives, and its error log.

The access log tells both faces; the error log who broke off, in fixed phrases ("upstream timed
out ... while reading upstream"). Both carry the number of the client's connection, which joins
them. Phrases and the meaning of variables: nginx.org, "Alphabetical index of variables", and the
strings of ngx_http_upstream.c of 1.22.
"""

from __future__ import annotations

import re
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
    wall_s,
    whole_of,
)
from exonerate.core.json_access import object_of, parse_json

_ERROR = re.compile(
    r"(?P<at>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[\w+\] \d+#\d+: \*(?P<connection>\d+) (?P<text>.*)"
)
_REQUEST = re.compile(r', request: "[A-Z]+ (?P<target>\S+) HTTP/[\d.]+"')
_UPSTREAM = re.compile(r', upstream: "[a-z]+://(?P<address>[^/"]+)')
_COMBINED = re.compile(
    r'\S+ - \S+ \[(?P<at>[^\]]+)\] "[A-Z]+ (?P<target>\S+) HTTP/[\d.]+" (?P<status>\d{3}) \d+ '
    r'"[^"]*" "[^"]*"'
)
_PHASES: tuple[tuple[str, str], ...] = (
    ("while connecting to upstream", "K"),
    ("while sending request to upstream", "H"),
    ("while reading response header from upstream", "H"),
    ("while reading upstream", "D"),
    ("while reading client request body", "B"),
)
_CAUSES: tuple[tuple[str, str], ...] = (
    ("upstream timed out", "sZ"),
    ("upstream prematurely closed connection", "sF"),
    ("reset by peer) while reading response header from upstream", "sR"),
    ("reset by peer) while reading upstream", "sR"),
    ("connect() failed", "sX"),
    ("no live upstreams", "hX"),
    ("client prematurely closed connection", "cF"),
    ("client timed out", "cZ"),
    ("client intended to send too large body", "hX"),
    ("too many open files", "hX"),
)
_PHASE_OF_CAUSE: Mapping[str, str] = {
    "no live upstreams": "Q",
    "client intended to send too large body": "B",
    "too many open files": "K",
}


def parse_nginx(line: str) -> LogEntry | None:
    """A line of the access log in our format, of the combined format, or of the error log."""
    if line.startswith("{"):
        return _access(line)
    return _error(line) or _combined(line)


def _access(line: str) -> LogEntry | None:
    row = object_of(parse_json(line))
    if row.get("exonerate") != "nginx":
        return None
    tried = [part for part in _parts(row.get("upstream")) if address_of(part)]
    status = whole_of(row.get("status"))
    received = _sum(_parts(row.get("received")))
    head_s = number_of(_last(row.get("head")))
    ended_s, total_s = number_of(row.get("at")), number_of(row.get("took"))
    return LogEntry(
        program="nginx",
        request_id=own_id(row.get("id")),
        foreign=is_foreign(row.get("id")),
        client_port=port_of(row.get("port")),
        connection=_connection(row.get("connection")),
        path=path_of(row.get("path")),
        begun_s=None if ended_s is None or total_s is None else round(ended_s - total_s, 3),
        total_s=total_s,
        head_s=head_s,
        status=status,
        dialled=bool(tried),
        upstream=tried[-1] if tried else None,
        attempts=len(tried),
        upstream_status=whole_of(_last(row.get("answered"))),
        upstream_bytes=received if tried else None,
        sent_bytes=whole_of(row.get("sent")),
        end=_end(row, status, tried=bool(tried), answered=bool(received) or head_s is not None),
        no_worker=status == 502 and bool(row.get("upstream")) and not tried,
    )


def _end(row: Mapping[str, object], status: int | None, *, tried: bool, answered: bool) -> str:
    """What the access log alone shows; an answer cut by the next hop looks whole in it."""
    if status == 499 or (status == 200 and row.get("completed") == ""):
        return "cFD" if answered else "cFH"
    if status in (502, 504) and tried and not answered:
        connected = number_of(_last(row.get("connect"))) is not None
        if status == 504:
            return "sZH" if connected else "sZK"
        return "sFH" if connected else "sXK"
    if status is not None and status >= 400 and not tried:
        return "hXQ" if status == 502 else "hXB"
    return relayed(status)


def _error(line: str) -> LogEntry | None:
    matched = _ERROR.match(line)
    if matched is None:
        return None
    text = matched["text"]
    cause = next(((phrase, code) for phrase, code in _CAUSES if phrase in text), None)
    if cause is None:
        return None
    phase = _PHASE_OF_CAUSE.get(cause[0]) or next(
        (letter for phrase, letter in _PHASES if phrase in text), "H"
    )
    request, upstream = _REQUEST.search(text), _UPSTREAM.search(text)
    return LogEntry(
        program="nginx",
        is_request=False,
        connection=matched["connection"],
        path=path_of(request["target"]) if request else None,
        begun_s=wall_s(matched["at"], "%Y/%m/%d %H:%M:%S"),
        upstream=address_of(upstream["address"]) if upstream else None,
        end=cause[1] + phase,
        no_worker=cause[0] == "no live upstreams",
    )


def _combined(line: str) -> LogEntry | None:
    """The default format: the moment (its end), the path and the status, and no more."""
    matched = _COMBINED.fullmatch(line)
    if matched is None:
        return None
    status = int(matched["status"])
    return LogEntry(
        program="nginx",
        path=path_of(matched["target"]),
        begun_s=wall_s(matched["at"], "%d/%b/%Y:%H:%M:%S %z"),
        status=status,
        end="cFH" if status == 499 else None,
    )


def _connection(value: object) -> str | None:
    return value if isinstance(value, str) and value.isascii() and value.isdecimal() else None


def _parts(value: object) -> list[str]:
    """nginx lists several tries with `, `, and several groups of servers with ` : `."""
    if not isinstance(value, str) or not value:
        return []
    return [part.strip() for part in value.replace(" : ", ", ").split(",")]


def _last(value: object) -> str | None:
    parts = _parts(value)
    return parts[-1] if parts else None


def _sum(parts: list[str]) -> int:
    return sum(int(number_of(part) or 0) for part in parts)
