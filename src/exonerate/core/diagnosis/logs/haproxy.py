"""HAProxy's HTTP log (`option httplog`): timers and the two letters of the termination state.

The letters and timers are described in HAProxy's "Configuration Manual", sections 8.2.3, 8.4 and
8.5. `capture request header x-request-id len 64` puts our id between the braces. The server's
name is no address, so that `upstream` stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from exonerate.core.diagnosis.logs.entry import (
    LogEntry,
    is_foreign,
    number_of,
    own_id,
    path_of,
    port_of,
    relayed,
    wall_s,
    whole_of,
)

_LINE = re.compile(
    r"(?<!\S)[^\s\[]{1,80}:(?P<port>\d{1,5}) \[(?P<at>[^\]]{10,40})\] \S+ \S+?/(?P<server>\S+) "
    r"(?P<request>-?\d+)/(?P<queue>-?\d+)/(?P<connect>-?\d+)/(?P<head>-?\d+)/\+?(?P<total>-?\d+) "
    r"(?P<status>-?\d+) \+?(?P<sent>\d+) \S+ \S+ (?P<state>[\w-]{2})[\w-]{0,2} "
    r"\d+/\d+/\d+/\d+/(?P<retries>\+?\d+) \d+/\d+ (?:\{(?P<captured>[^}]*)\} )?.*?"
    r'"(?:[A-Z]+ (?P<target>[^\s"]+)|<BADREQ>)'
)
_NO_SERVER = "<NOSRV>"
_WHO: Mapping[str, str] = {
    "C": "cF", "c": "cZ", "S": "sF", "s": "sZ", "P": "hX", "L": "hX", "R": "hX", "I": "hX",
    "D": "hF", "U": "hF", "K": "hF",
}  # fmt: skip
_PHASE: Mapping[str, str] = {
    "R": "B", "Q": "Q", "C": "K", "H": "H", "D": "D", "L": "E", "T": "H", "-": "H",
}  # fmt: skip


def parse_haproxy(line: str) -> LogEntry | None:
    """A line of the HTTP log, with or without what syslog puts before it."""
    matched = _LINE.search(line)  # the client's address is bounded, or this would be slow
    if matched is None:
        return None
    status = whole_of(matched["status"])
    state = matched["state"]
    connect_s, head_s = _seconds(matched["connect"]), _seconds(matched["head"])
    chosen = not matched["server"].startswith("<")
    retries = int(matched["retries"].lstrip("+")[:6])
    return LogEntry(
        program="haproxy",
        request_id=_own_id(matched["captured"]),
        foreign=is_foreign(matched["captured"]) and _own_id(matched["captured"]) is None,
        client_port=port_of(matched["port"]),
        path=path_of(matched["target"]),
        begun_s=wall_s(matched["at"], "%d/%b/%Y:%H:%M:%S.%f"),
        total_s=_seconds(matched["total"]),
        head_s=head_s,
        status=status,
        dialled=chosen and state[1] != "Q",
        attempts=1 + retries if chosen else 0,
        upstream_status=status if head_s is not None else None,
        sent_bytes=whole_of(matched["sent"]),
        end=_end(state, status, chosen=chosen, connected=connect_s is not None),
        no_worker=matched["server"] == _NO_SERVER and state == "SC",
    )


def _end(state: str, status: int | None, *, chosen: bool, connected: bool) -> str:
    """HAProxy's letters in ours; a server that refused the connection said no in words."""
    if state == "--" or (state[0] == "L" and status is not None and status < 400):
        return relayed(status) if chosen else "---"
    if state[1] == "Q" or (state == "SC" and not chosen):
        return "hXQ"
    who = _WHO.get(state[0], "nF")
    if who == "sF" and not connected:
        who = "sX"
    return who + _PHASE.get(state[1], "H")


def _seconds(milliseconds: str) -> float | None:
    number = number_of(milliseconds)
    return None if number is None else number / 1000


def _own_id(captured: str | None) -> str | None:
    found = (own_id(part) for part in (captured or "").split("|"))
    return next((name for name in found if name is not None), None)
