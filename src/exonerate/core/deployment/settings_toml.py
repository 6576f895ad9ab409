"""One scalar of a TOML file; a knob's name is the dotted path of its key.

Edits are proposed from the text and proved by `tomllib`: a proposal that changes anything else is
thrown away by `knobs.with_value`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping

from exonerate.core.deployment.settings_error import UnprovableSetting

_HEADER = re.compile(r"[ \t]*\[(?P<path>[^\[\]]+)\][ \t]*(#.*)?\r?$")
_PAIR = re.compile(
    r"(?P<head>[ \t]*(?P<key>[A-Za-z0-9_.\"'-]+)[ \t]*=[ \t]*)"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|(?![\[{])[^\s#]+)(?P<tail>[ \t]*(#.*)?\r?)$"
)


def toml_settings(text: str) -> dict[str, str]:
    """Every value by its dotted path; what is no scalar as JSON."""
    return dict(_flattened(_parsed(text), ""))


def toml_value(text: str, name: str) -> str | None:
    """The scalar at a dotted path as text, or None when it is absent."""
    return toml_settings(text).get(name)


def toml_proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the key may have the value (None: is absent)."""
    lines = text.split("\n")
    present = toml_value(text, name) is not None
    for index, table in _tables(lines):
        match = _PAIR.match(lines[index])
        here = match and _joined(table, match["key"]) == name
        if match and here and value is None:
            yield "\n".join(lines[:index] + lines[index + 1 :])
        elif match and here:
            new = match["head"] + _source(match["value"], value or "") + match["tail"]
            yield "\n".join([*lines[:index], new, *lines[index + 1 :]])
    if not present:
        yield from [text] if value is None else _added(lines, name, value)


def _parsed(text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnprovableSetting(f"the file is not TOML: {error}", "mend the file first") from error


def _flattened(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def _tables(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each line's number and the table it stands in, if it is no header itself."""
    table = ""
    for index, line in enumerate(lines):
        header = _HEADER.match(line)
        if header:
            table = _unquoted(header["path"])
        elif line.lstrip().startswith("[["):
            table = "["
        else:
            yield index, table


def _joined(table: str, key: str) -> str:
    return f"{table}.{_unquoted(key)}" if table else _unquoted(key)


def _unquoted(path: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in path.split("."))


def _source(old: str, value: str) -> str:
    if old.startswith("'") and "'" not in value:
        return f"'{value}'"
    if old.startswith(("'", '"')) or not _is_bare(value):
        return json.dumps(value, ensure_ascii=False)
    return value


def _is_bare(value: str) -> bool:
    """Whether the text stands for itself as a TOML number or boolean."""
    try:
        parsed = tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(parsed, (bool, int, float)) and _as_text(parsed) == value


def _added(lines: list[str], name: str, value: str) -> Iterator[str]:
    table, _, key = name.rpartition(".")
    line = f"{key} = {_source('', value)}"
    ends = "\r" if lines[0].endswith("\r") else ""
    places = [index for index, inside in _tables(lines) if inside == table and lines[index].strip()]
    headers = [
        i
        for i, text in enumerate(lines)
        if (m := _HEADER.match(text)) and table and _unquoted(m["path"]) == table
    ]
    for index in [*reversed(places), *headers]:
        if index == len(lines) - 1:
            yield "\n".join([*lines[:index], lines[index] + ends, line])
        else:
            yield "\n".join([*lines[: index + 1], line + ends, *lines[index + 1 :]])
    if not table:
        yield "\n".join([line + ends, *lines])
