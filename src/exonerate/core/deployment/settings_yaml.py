"""One top-level scalar of a flat YAML file.

Only `key: value` lines at the left margin are understood; what is nested under another key is
carried along as text and never edited. Anchors, aliases, merges, tags, block and flow values of
the knob itself, and files of several documents, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting

_PAIR = re.compile(
    r"(?P<key>\"[^\"\\\n]*\"|'[^'\n]*'|[A-Za-z_][^\s:#'\"]*)(?P<colon>[ \t]*:)"
    r"(?P<gap>[ \t]+|(?=\r?$))(?P<value>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\n]|'')*'|[^\r\n]*?)"
    r"(?P<tail>(?:[ \t]+(?:#[^\r\n]*)?)?\r?)$"
)
_BARE = re.compile(r"[A-Za-z0-9_./+-](?:[A-Za-z0-9_./+,=@ -]*[A-Za-z0-9_./+=-])?")
_INDICATORS = tuple("&*!|>{[%@`?")


@dataclass(frozen=True, slots=True)
class _Pair:
    key: str
    source: str
    nested: str
    index: int
    match: re.Match[str]


def yaml_settings(text: str) -> dict[str, str]:
    """Every top-level key with its scalar, or with the text that is nested under it."""
    settings: dict[str, str] = {}
    for pair in _pairs(text):
        shown = _scalar(pair.source) + pair.nested
        earlier = settings.get(pair.key)
        settings[pair.key] = shown if earlier is None else f"{earlier}\n{shown}"
    return settings


def yaml_value(text: str, name: str) -> str | None:
    """The scalar of a top-level key, or None when it is absent."""
    pair = _provable(text, name)
    return None if pair is None else _scalar(pair.source)


def yaml_proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the key has the value (None: is absent)."""
    pair = _provable(text, name)
    lines = text.split("\n")
    if pair is None:
        yield text if value is None else _added(text, name, value)
    elif value is None:
        kept = lines[: pair.index] + lines[pair.index + 1 :]
        yield "\n".join(kept)
    else:
        found = pair.match
        head = lines[pair.index][: found.start("value")] or f"{found['key']}:"
        new = head + ("" if head.endswith((" ", "\t")) else " ") + _source(pair.source, value)
        yield "\n".join([*lines[: pair.index], new + found["tail"], *lines[pair.index + 1 :]])


def _pairs(text: str) -> list[_Pair]:
    pairs: list[_Pair] = []
    nested: list[str] = []
    for index, line in enumerate(text.split("\n")):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if line.startswith(("---", "...")):
            if pairs:
                raise UnprovableSetting(f"line {index + 1}: more than one YAML document")
            continue
        match = _PAIR.match(line)
        if line[0] in " \t-" and pairs:
            nested.append(line)
            last = pairs[-1]
            joined = last.nested + "\n" + line
            pairs[-1] = _Pair(last.key, last.source, joined, last.index, last.match)
        elif match is None:
            raise UnprovableSetting(f"line {index + 1}: `{stripped}` is no flat `key: value`")
        else:
            pairs.append(_Pair(match["key"].strip("\"'"), match["value"], "", index, match))
    return pairs


def _provable(text: str, name: str) -> _Pair | None:
    pairs = _pairs(text)
    found = [pair for pair in pairs if pair.key == name]
    if len(found) > 1:
        raise UnprovableSetting(f"{name} stands more than once in the file")
    if any(line.startswith("<<") for line in text.split("\n")):
        raise UnprovableSetting("a merge key (`<<`) may change every key")
    if not found:
        return None
    pair = found[0]
    if pair.nested or pair.source.startswith(_INDICATORS):
        raise UnprovableSetting(f"line {pair.index + 1}: the value of {name} is no flat scalar")
    if pair.source.startswith('"') and "\\" in pair.source:
        raise UnprovableSetting(f"line {pair.index + 1}: the value of {name} holds an escape")
    return pair


def _scalar(source: str) -> str:
    if len(source) >= 2 and source[0] == source[-1] == '"':
        return source[1:-1]
    if len(source) >= 2 and source[0] == source[-1] == "'":
        return source[1:-1].replace("''", "'")
    return source


def _source(old: str, value: str) -> str:
    if old.startswith('"') and '"' not in value and "\\" not in value:
        return f'"{value}"'
    if old.startswith(("'", '"')) or not _BARE.fullmatch(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _added(text: str, name: str, value: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{name}: {_source('', value)}"
    if text and not text.endswith("\n"):
        return f"{text}{newline}{line}"
    return f"{text}{line}{newline}"
