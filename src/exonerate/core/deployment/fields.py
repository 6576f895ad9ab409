"""What each key of the deployment file may hold: names, types, limits, as tables.

`parse` walks these tables; a new key is one line here and one field in `model`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from exonerate.core.json_types import Json

Check: TypeAlias = Callable[[object], str | None]
"""Returns what would be right when the value is wrong, else None."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """One key: how its value is checked and turned into what the model holds."""

    check: Check
    convert: Callable[[object], object] = lambda value: value
    required: bool = False


def _is_text(value: object) -> str | None:
    ok = isinstance(value, str) and value.strip() and "\0" not in value
    return None if ok else "a non-empty text in quotes"


def _is_name(value: object) -> str | None:
    ok = _is_text(value) is None and isinstance(value, str) and value.isprintable()
    return None if ok else "a non-empty text of one line in quotes"


def _is_file_name(value: object) -> str | None:
    """A name that also names files of ours."""
    ok = _is_name(value) is None and isinstance(value, str) and "/" not in value
    return None if ok and value not in (".", "..") else "a name without `/` in quotes"


def _is_bool(value: object) -> str | None:
    return None if isinstance(value, bool) else "true or false"


URL_EXPECTED = "a URL like `http://127.0.0.1:8000`"


def url_problem(value: object) -> str | None:
    """What would be right when this is no URL that a request can be sent to, else None."""
    if not isinstance(value, str) or not _is_bare(value):
        return URL_EXPECTED
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return f"{URL_EXPECTED}; its port is 1 to 65535"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return URL_EXPECTED
    try:
        # As the resolver will: a label has 1 to 63 letters (RFC 1035, 2.3.4).
        parts.hostname.encode("idna")
    except UnicodeError:
        return f"{URL_EXPECTED}; each part of a host name has 1 to 63 letters"
    if not (parts.path + parts.query).isascii():
        return f"{URL_EXPECTED}; other letters in its path as %-escapes"
    return None


def _is_bare(value: str) -> bool:
    """Whether the text has no blank and nothing that does not print: it goes into a request."""
    return value.isprintable() and not any(letter.isspace() for letter in value)


def _is_path(value: object) -> str | None:
    ok = isinstance(value, str) and value.startswith("/") and not value.startswith("//")
    ok = ok and isinstance(value, str) and value.isascii() and _is_bare(value)
    return None if ok else "a path like `/v1/chat/completions`, other letters as %-escapes"


def _one_of(*allowed: str) -> Check:
    expected = "one of " + ", ".join(f'"{word}"' for word in allowed)
    return lambda value: None if value in allowed else expected


def _whole(low: int, high: int) -> Check:
    def check(value: object) -> str | None:
        ok = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return None if ok else f"a whole number from {low} to {high}"

    return check


def _seconds(low: float, high: float) -> Check:
    def check(value: object) -> str | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        ok = is_number and low <= float(str(value)) <= high
        return None if ok else f"seconds from {low:g} to {high:g}"

    return check


def _is_text_list(value: object) -> str | None:
    ok = isinstance(value, list) and value and all(_is_text(item) is None for item in value)
    return None if ok else 'a list of texts like ["./serve.sh"]'


def _is_text_or_list(value: object) -> str | None:
    if isinstance(value, str):
        return _is_text(value)
    return None if _is_text_list(value) is None else 'a name or a list of names like ["router"]'


_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, 5.6.2)."""
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
"""What goes on the wire as one byte a letter (RFC 9110, 5.5)."""


def _is_header_table(value: object) -> str | None:
    ok = isinstance(value, dict) and all(
        _HEADER_NAME.fullmatch(name) and isinstance(item, str) and _HEADER_VALUE.fullmatch(item)
        for name, item in value.items()
    )
    return None if ok else 'a table of texts like { "x-team" = "search" }'


def _is_scalar(value: object) -> str | None:
    return None if isinstance(value, str | int | float) else "a text, a number, true or false"


def _is_scalar_list(value: object) -> str | None:
    ok = isinstance(value, list) and value and all(_is_scalar(item) is None for item in value)
    return None if ok else "a list of values like [256, 512]"


def knob_text(value: object) -> str:
    """A knob's value as it would stand in a file: 512 is "512", true is "true"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _names(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]  # checked


def _header_pairs(value: object) -> tuple[tuple[str, str], ...]:
    assert isinstance(value, dict)
    return tuple(value.items())


def _knob_values(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple(knob_text(item) for item in value)


def _strip_slash(value: object) -> str:
    return str(value).rstrip("/")


FieldTable: TypeAlias = dict[str, FieldRule]

DEPLOYMENT_FIELDS: FieldTable = {
    "name": FieldRule(_is_name),
    "model": FieldRule(_is_name, required=True),
}
HOP_FIELDS: FieldTable = {
    "name": FieldRule(_is_name, required=True),
    "role": FieldRule(_one_of("proxy", "router", "prefill", "decode", "engine"), required=True),
    "url": FieldRule(url_problem, _strip_slash, required=True),
    "kind": FieldRule(_is_name),
    "metrics": FieldRule(url_problem),
    "health": FieldRule(url_problem),
    "log": FieldRule(_is_text),
    "error_log": FieldRule(_is_text),
    "watchdog_s": FieldRule(_seconds(0.1, 86400), float),  # type: ignore[arg-type]  # checked before
    "tap": FieldRule(url_problem),
    "http": FieldRule(_one_of("1.1", "2", "auto")),
    "ca": FieldRule(_is_text),
    "behind": FieldRule(_is_text_or_list, _names),
}
VICTIM_FIELDS: FieldTable = {
    "endpoint": FieldRule(_is_path),
    "rounds": FieldRule(_whole(1, 1000)),
    "think_s": FieldRule(_seconds(0, 3600), float),  # type: ignore[arg-type]  # checked before
    "stream": FieldRule(_is_bool),
    "chunked": FieldRule(_is_bool),
    "connection": FieldRule(_one_of("reuse", "fresh")),
    "concurrency": FieldRule(_whole(1, 4096)),
    "prompt_tokens": FieldRule(_whole(1, 10_000_000)),
    "growth_tokens": FieldRule(_whole(0, 10_000_000)),
    "max_tokens": FieldRule(_whole(1, 1_000_000)),
    "deadline_s": FieldRule(_seconds(0.1, 86400), float),  # type: ignore[arg-type]  # checked before
    "request": FieldRule(_is_text),
    "headers": FieldRule(_is_header_table, _header_pairs),
    "api_key_env": FieldRule(_is_text),
}
SERVICE_FIELDS: FieldTable = {
    "name": FieldRule(_is_file_name, required=True),
    "hop": FieldRule(_is_text),
    "start": FieldRule(_is_text_list, _names),
    "unit": FieldRule(_is_text),
    "manager": FieldRule(_one_of("system", "user")),
    "ready": FieldRule(url_problem),
    "ready_timeout_s": FieldRule(_seconds(0.1, 86400), float),  # type: ignore[arg-type]  # checked
}
KNOB_FIELDS: FieldTable = {
    "name": FieldRule(_is_name, required=True),
    "service": FieldRule(_is_text, required=True),
    "file": FieldRule(_is_text, required=True),
    "form": FieldRule(
        _one_of("export", "flag", "environment-file", "unit-environment", "toml", "yaml", "json"),
        required=True,
    ),
    "values": FieldRule(_is_scalar_list, _knob_values),
    "default": FieldRule(_is_scalar, knob_text),
}
SECTIONS: dict[str, tuple[FieldTable, bool]] = {
    "deployment": (DEPLOYMENT_FIELDS, False),
    "hop": (HOP_FIELDS, True),
    "victim": (VICTIM_FIELDS, False),
    "service": (SERVICE_FIELDS, True),
    "knob": (KNOB_FIELDS, True),
}
"""Section name -> its fields and whether it repeats (`[[hop]]`)."""


def type_name(value: Json | object) -> str:
    """The value as an error shows it: short, one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
