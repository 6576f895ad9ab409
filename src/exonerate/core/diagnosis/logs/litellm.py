"""litellm's proxy: uvicorn's access lines, and the errors that it prints before them.

An access line holds the client's port and the status, and is written when the head of an answer
goes out. An error names what the next hop did, and no request: it is joined to the access line
that follows it, and to nothing where another error stands between. Uvicorn's lines by themselves,
as Python engines write them, tell that a request was seen. Texts as litellm 1.110 writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from exonerate.core.diagnosis.logs.entry import LogEntry, path_of, port_of

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ACCESS = re.compile(
    r'(?:^|\s|:)(?:\[?[0-9A-Fa-f.:]+\]?):(?P<port>\d{1,5}) - "[A-Z]+ (?P<target>\S+) HTTP/[\d.]+" '
    r"(?P<status>\d{3})\b"
)
_ERROR = re.compile(r"LiteLLM Proxy:ERROR: .*?_handle_llm_api_exception\(\).*? - (?P<said>.*)")
_RETRIED = re.compile(r"LiteLLM Retried: (?P<times>\d{1,4}) times")
_CAUSES: tuple[tuple[str, str], ...] = (
    ("No deployments available", "hXQ"),
    ("litellm.Timeout", "sZH"),
    ("Connection error", "sXK"),
    ("litellm.", "sXH"),
)


def parse_litellm(line: str) -> LogEntry | None:
    """An access line, an error of a request, or how often it was tried again."""
    line = _COLOUR.sub("", line)
    matched = _ACCESS.search(line)
    if matched is not None:
        return LogEntry(
            program="litellm",
            client_port=port_of(matched["port"]),
            path=path_of(matched["target"]),
            status=int(matched["status"]),
        )
    error, retried = _ERROR.search(line), _RETRIED.search(line)
    if error is not None:
        code = next((code for words, code in _CAUSES if words in error["said"]), None)
        if code is None:
            return None
        nobody = code == "hXQ"
        return LogEntry(
            program="litellm", is_request=False, dialled=not nobody, end=code, no_worker=nobody,
            attempts=0 if nobody else 1,
        )  # fmt: skip
    if retried is not None:
        return LogEntry(program="litellm", is_request=False, attempts=int(retried["times"]) + 1)
    return None


def joined(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """Access lines with the error that stood before them; errors without one are left out."""
    found: list[LogEntry] = []
    errors: list[LogEntry] = []
    tries = 0
    for entry in entries:
        if entry.is_request:
            failed = entry.status is not None and entry.status >= 400
            found.append(_with(entry, errors[0], tries) if failed and len(errors) == 1 else entry)
            if failed:
                errors, tries = [], 0
        elif entry.end is not None:
            errors.append(entry)
        else:
            tries = max(tries, entry.attempts)
    return found


def _with(entry: LogEntry, error: LogEntry, tries: int) -> LogEntry:
    return replace(
        entry,
        dialled=error.dialled,
        end=error.end,
        no_worker=error.no_worker,
        attempts=max(error.attempts, tries) if error.dialled else 0,
    )
