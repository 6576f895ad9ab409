"""`Environment=` lines in the [Service] section of a systemd unit or drop-in.

Grammar: systemd.syntax(7) and systemd.exec(5), "Environment=": assignments separated by blanks,
quotes around a whole item, an empty `Environment=` clears what came before, a later assignment
wins. `EnvironmentFile=` beats `Environment=`, `UnsetEnvironment=` beats both, so with one of them
in the file nothing here is provable. What other files of the unit do to the value is seen only in
the environment of its processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting, line_of

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_KEY = re.compile(r"[ \t]*(?P<key>[A-Za-z]+)[ \t]*=[ \t]*")
_ITEM = re.compile(
    r'[^ \t\r\n\\"\']+|\\\r?\n|\\.|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL
)
_ESCAPES = {"s": " ", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_BARE = re.compile(r"[A-Za-z0-9_./:,@+=-]*")


@dataclass(frozen=True, slots=True)
class Item:
    """One assignment of an `Environment=` line; `why_not` says why its value is not provable."""

    name: str
    value: str
    start: int
    end: int
    quote: str
    alone: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class _Statement:
    key: str
    start: int
    value_start: int
    end: int


def unit_settings(text: str) -> dict[str, str]:
    """Every variable set by `Environment=`; a later one wins."""
    return {item.name: item.value for item in _items(text)}


def unit_value(text: str, name: str) -> str | None:
    """The value that the unit gives, or None when no line gives one."""
    item = _provable(text, name)
    return None if item is None else item.value


def unit_proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the variable has the value (None: is not set)."""
    item = _provable(text, name)
    if item is None:
        yield text if value is None else _added(text, _source("", name, value))
    elif value is None:
        yield _removed(text, item)
    else:
        yield text[: item.start] + _source(item.quote, name, value) + text[item.end :]


def _provable(text: str, name: str) -> Item | None:
    for statement in _statements(text):
        if statement.key in ("EnvironmentFile", "UnsetEnvironment", "PassEnvironment"):
            line = line_of(text, statement.start)
            raise UnprovableSetting(f"line {line}: `{statement.key}=` may change {name}")
    found = [item for item in _items(text) if item.name == name]
    if found and found[-1].why_not:
        raise UnprovableSetting(found[-1].why_not)
    return found[-1] if found else None


def _statements(text: str) -> list[_Statement]:
    """The key lines of [Service], each with its continuation lines."""
    found: list[_Statement] = []
    section, at = "", 0
    while at < len(text):
        end = _logical_end(text, at)
        line = text[at:end]
        stripped = line.strip()
        match = _KEY.match(line)
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1]
        elif match and section == "Service" and stripped[0] not in "#;":
            content_end = at + len(line.rstrip("\r\n"))
            found.append(_Statement(match["key"], at, at + match.end(), content_end))
        at = end
    return found


def _logical_end(text: str, start: int) -> int:
    at = start
    comment = text[start:].lstrip(" \t")[:1] in ("#", ";")
    while at < len(text):
        match = _LINE.match(text, at)
        assert match is not None
        at = match.end()
        if comment or not match[0].rstrip("\r\n").endswith("\\"):
            break
        if text[at:].lstrip(" \t")[:1] in ("#", ";"):
            raise UnprovableSetting(f"line {line_of(text, at)}: a comment inside a joined line")
    return at


def _items(text: str) -> list[Item]:
    items: list[Item] = []
    for statement in _statements(text):
        if statement.key != "Environment":
            continue
        words = list(_words(text, statement.value_start, statement.end))
        if not words:
            items.clear()
        for start, end in words:
            items.append(_item(text, start, end, alone=len(words) == 1))
    return items


def _words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    while at < end:
        if text[at] in " \t\r\n" or re.compile(r"\\\r?\n").match(text, at):
            at += 1
            continue
        word_start = at
        while at < end and text[at] not in " \t\r\n":
            match = _ITEM.match(text, at, end)
            if match is None:
                raise UnprovableSetting(f"line {line_of(text, at)}: `{text[at]}` is not closed")
            if match[0].startswith("\\") and match[0].endswith("\n"):
                break
            at = match.end()
        yield word_start, at


def _item(text: str, start: int, end: int, *, alone: bool) -> Item:
    raw = text[start:end]
    quote = raw[0] if raw[0] in "\"'" else ""
    inside = raw[1:-1] if quote and raw[-1] == quote else raw
    name, _, source = inside.partition("=")
    value, why_not = _decoded(source)
    if (not quote and re.search("[\"']", raw)) or (quote and raw.find(quote, 1) < len(raw) - 1):
        # systemd.syntax(7) allows quotes only around a whole item.
        why_not = "a quote stands inside the item" if "\\" not in raw else why_not
    if why_not:
        why_not = f"line {line_of(text, start)}: {why_not}"
    return Item(name, value, start, end, quote, alone, why_not)


def _decoded(source: str) -> tuple[str, str]:
    """The value of an item, and why it is not provable."""
    value, at = "", 0
    while at < len(source):
        pair = source[at : at + 2]
        if pair == "%%":
            value, at = value + "%", at + 2
        elif pair[0] == "\\" and pair[1:] in _ESCAPES:
            value, at = value + _ESCAPES[pair[1:]], at + 2
        elif pair[0] in "%\\":
            return source, f"`{pair}` is expanded by systemd"
        else:
            value, at = value + pair[0], at + 1
    return value, ""


def _source(quote: str, name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    if quote == "'":
        escaped = escaped.replace('\\"', '"').replace("'", "\\'")
        return f"'{name}={escaped}'"
    if quote == '"' or not _BARE.fullmatch(value):
        return f'"{name}={escaped}"'
    return f"{name}={escaped}"


def _added(text: str, source: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [s for s in _statements(text) if s.key == "Environment"]
    line = f"Environment={source}"
    if lines:
        end = lines[-1].end
        return f"{text[:end]}{newline}{line}{text[end:]}"
    header = re.search(r"^[ \t]*\[Service\][ \t]*$", text.replace("\r", " "), re.MULTILINE)
    if header is None:
        raise UnprovableSetting("the unit has no [Service] section")
    end = len(text[: header.end()].rstrip())
    return f"{text[:end]}{newline}{line}{text[end:]}"


def _removed(text: str, item: Item) -> str:
    if not item.alone:
        # The first item keeps the key in front of it; any other takes the blanks before it along.
        if text[: item.start].rstrip(" \t").endswith("="):
            return text[: item.start] + text[item.end :].lstrip(" \t")
        return text[: len(text[: item.start].rstrip(" \t"))] + text[item.end :]
    statement = next(s for s in _statements(text) if s.start <= item.start < s.end)
    rest = text[statement.end :]
    newline = "\r\n" if rest.startswith("\r\n") else rest[:1]
    if not newline:
        return text[: statement.start].removesuffix("\n").removesuffix("\r")
    return text[: statement.start] + rest[len(newline) :]
