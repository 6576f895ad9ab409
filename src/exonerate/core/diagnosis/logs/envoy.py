"""Envoy's access log: the JSON format that docs/logs.md gives, and the default text format.

Response flags and details: Envoy's documentation, "Access logging", %RESPONSE_FLAGS% and
%RESPONSE_CODE_DETAILS%. An error without a flag was said by the next hop and only passed on.
Envoy writes its files every 10 s unless `--file-flush-interval-msec` says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from exonerate.core.diagnosis.logs.entry import (
    LogEntry,
    address_of,
    number_of,
    own_id,
    path_of,
    port_of,
    relayed,
    wall_s,
    whole_of,
)
from exonerate.core.json_access import object_of, parse_json
from exonerate.core.json_types import JsonObject

_TEXT = re.compile(
    r'\[(?P<at>[^\]]+)\] "[A-Z]+ (?P<path>\S+) \S+" (?P<status>\d+) (?P<flags>\S+) \d+ '
    r'(?P<sent>\d+) (?P<took>\d+) (?P<head>\S+) "[^"]*" "[^"]*" "(?P<id>[^"]*)" "[^"]*" '
    r'"(?P<upstream>[^"]*)"'
)
_FLAGS: Mapping[str, str] = {
    "UH": "hXQ", "UO": "hXQ", "NR": "hXQ", "NC": "hXQ", "RL": "hXQ", "RLSE": "hXQ",
    "UAEX": "hXQ", "FI": "hXQ", "DI": "hXQ", "NFCF": "hXQ", "OM": "hXQ", "DO": "hXQ",
    "UF": "sXK", "UT": "sZ", "LR": "hR", "UR": "sR", "UC": "sF", "UPE": "sX", "LH": "hXQ",
    "DC": "cF", "DPE": "cX", "DR": "cR", "IH": "cX", "SI": "sZ", "DT": "hF", "UMSDR": "hF",
    "URX": "sX",
}  # fmt: skip
"""Flag -> end code, without its phase where the phase is the answer's."""
_NOBODY = frozenset({"UH", "UO"})
_NOT_SENT = frozenset(flag for flag, code in _FLAGS.items() if code == "hXQ")


def parse_envoy(line: str) -> LogEntry | None:
    """A line of the access log in our JSON format or in Envoy's default one."""
    if line.startswith("{"):
        row = object_of(parse_json(line))
        return _json(row) if row.get("exonerate") == "envoy" else None
    matched = _TEXT.match(line)
    if matched is None:
        return None
    head_s = _seconds(matched["head"])
    return _entry(
        flags=matched["flags"],
        status=whole_of(matched["status"]),
        head_s=head_s,
        details="",
        entry=LogEntry(
            program="envoy",
            request_id=own_id(matched["id"]),
            path=path_of(matched["path"]),
            begun_s=wall_s(matched["at"], "%Y-%m-%dT%H:%M:%S.%f%z"),
            total_s=_seconds(matched["took"]),
            head_s=head_s,
            upstream=address_of(matched["upstream"]),
            sent_bytes=whole_of(matched["sent"]),
        ),
    )


def _json(row: JsonObject) -> LogEntry:
    flags, details = row.get("flags"), row.get("details")
    head_s = _seconds(row.get("head_ms"))
    return _entry(
        flags=flags if isinstance(flags, str) else "-",
        status=whole_of(row.get("status")),
        head_s=head_s,
        details=details if isinstance(details, str) else "",
        entry=LogEntry(
            program="envoy",
            request_id=own_id(row.get("id")),
            client_port=port_of(row.get("client")),
            path=path_of(row.get("path")),
            begun_s=number_of(row.get("at")),
            total_s=_seconds(row.get("took_ms")),
            head_s=head_s,
            upstream=address_of(row.get("upstream")),
            attempts=whole_of(row.get("attempts")) or 0,
            upstream_bytes=whole_of(row.get("received")),
            sent_bytes=whole_of(row.get("sent")),
        ),
    )


def _entry(
    *, flags: str, status: int | None, head_s: float | None, details: str, entry: LogEntry
) -> LogEntry:
    """What the flags mean; several may stand together, separated by commas."""
    known = [flag for flag in flags.split(",") if flag in _FLAGS]
    sent_on = entry.upstream is not None and not _NOT_SENT & set(known)
    end = _end(known, status, details, answered=head_s is not None)
    return LogEntry(
        **{
            **{name: getattr(entry, name) for name in LogEntry.__dataclass_fields__},
            "status": status,
            "dialled": sent_on,
            "attempts": max(entry.attempts, 1) if sent_on else 0,
            "upstream_status": status if head_s is not None else None,
            "end": end,
            "no_worker": bool(_NOBODY & set(known)),
        }
    )


def _end(flags: list[str], status: int | None, details: str, *, answered: bool) -> str:
    if not flags:
        return relayed(status) if answered or details == "via_upstream" else "---"
    # Retries that were used up say less than what the last of them met.
    flag = next((one for one in flags if one != "URX"), flags[0])
    code = _FLAGS[flag]
    return code if len(code) == 3 else code + ("D" if answered else "H")


def _seconds(milliseconds: object) -> float | None:
    number = number_of(milliseconds)
    return None if number is None else number / 1000
