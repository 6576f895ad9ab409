"""Which parser reads a hop's log: the one of its `kind`, or whichever knows the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exonerate.core.diagnosis.logs.caddy import parse_caddy
from exonerate.core.diagnosis.logs.entry import LineParser, LogEntry
from exonerate.core.diagnosis.logs.envoy import parse_envoy
from exonerate.core.diagnosis.logs.haproxy import parse_haproxy
from exonerate.core.diagnosis.logs.litellm import joined, parse_litellm
from exonerate.core.diagnosis.logs.nginx import parse_nginx
from exonerate.core.diagnosis.logs.smg import parse_smg

PARSERS: Mapping[str, LineParser] = {
    "nginx": parse_nginx,
    "haproxy": parse_haproxy,
    "envoy": parse_envoy,
    "caddy": parse_caddy,
    "sglang-router": parse_smg,
    "litellm": parse_litellm,
}
"""By the `kind` of a hop."""
LINE_LETTERS_MAX = 16_384
"""What is longer is no line of a log that tells of a request; the patterns need not see it."""


def parse_lines(lines: Sequence[str], kind: str | None = None) -> tuple[list[LogEntry], int]:
    """What lines that follow each other say of requests, and how many of them were not known."""
    parsed = [entry for line in lines if (entry := parse_line(line, kind)) is not None]
    plain = [entry for entry in parsed if entry.program != "litellm"]
    told = joined(entry for entry in parsed if entry.program == "litellm")
    return [*plain, *told], len(lines) - len(parsed)


def parse_line(line: str, kind: str | None = None) -> LogEntry | None:
    """What one line says of a request, or None."""
    if len(line) > LINE_LETTERS_MAX:
        return None
    parser = PARSERS.get(kind or "")
    if parser is not None:
        return parser(line)
    found = (parser(line) for parser in PARSERS.values())
    return next((entry for entry in found if entry is not None), None)
