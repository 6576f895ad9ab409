"""sglang-router (`smg`) 0.3: its tracing lines, plain or with colours.

The id of a request stands in every line about it (`request_id`, from `x-request-id`). The lines
say when it was taken, each send that failed, and how it ended; at `--log-level debug` each send.
"""

from __future__ import annotations

import re

from exonerate.core.diagnosis.logs.entry import (
    LogEntry,
    address_of,
    is_foreign,
    number_of,
    own_id,
    path_of,
    wall_s,
    whole_of,
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) +[A-Z]+ (?:http_request\{(?P<fields>[^}]*)\}: )?"
    r"smg::(?P<text>.*)"
)
_FIELD = re.compile(r'(\w+)=("[^"]*"|\S+)')
_URL = re.compile(r"(?:worker_url|url)=https?://([^\s/]+)")


def parse_smg(line: str) -> LogEntry | None:
    """One line; None for what is not about a request."""
    matched = _LINE.match(_COLOUR.sub("", line))
    if matched is None or matched["fields"] is None:
        return None
    fields = {name: value.strip('"') for name, value in _FIELD.findall(matched["fields"])}
    text = matched["text"]
    url = _URL.search(text)
    common = LogEntry(
        program="smg",
        is_request=False,
        request_id=own_id(fields.get("request_id")),
        foreign=is_foreign(fields.get("request_id")),
        path=path_of(fields.get("uri")),
        begun_s=wall_s(matched["at"], "%Y-%m-%d %H:%M:%S"),
        upstream=address_of(url[1]) if url else None,
    )
    return _told(common, text, fields)


def _told(common: LogEntry, text: str, fields: dict[str, str]) -> LogEntry | None:
    values = {name: getattr(common, name) for name in LogEntry.__dataclass_fields__}
    if text.startswith("response:"):
        micros = number_of(fields.get("latency"))
        # A stream's latency ends with its head.
        took_s = None if micros is None else micros / 1e6
        status = whole_of(fields.get("status_code"))
        came = status is not None and status < 400
        head_s = took_s if came else None
        return LogEntry(
            **{**values, "is_request": True, "status": status, "total_s": took_s, "head_s": head_s}
        )
    if text.startswith("request:"):
        return common
    if "Sending request" in text:
        return LogEntry(**{**values, "dialled": True, "attempts": 1})
    if "Failed to send typed request" in text:
        return LogEntry(**{**values, "dialled": True, "end": "sZH"})
    if "Circuit breaker state transition" in text:
        # The request that opened it was sent on; the breaker is the hop's affair.
        opened = text.rstrip().endswith("-> open")
        return LogEntry(
            **{**values, "request_id": None, "foreign": False, "path": None, "no_worker": opened}
        )
    return None
