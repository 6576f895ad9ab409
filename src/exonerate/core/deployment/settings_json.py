"""One scalar of a JSON file, changed in place; a knob's name is the dotted path of its key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting

_SPACE = " \t\r\n"
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_DEPTH_MAX = 50


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an object: its path and the spans of the pair and of the value."""

    path: str
    start: int
    value_start: int
    end: int


def json_settings(text: str) -> dict[str, str]:
    """Every scalar (and every array, as its source) by its dotted path."""
    return {
        member.path: _as_text(text[member.value_start : member.end])
        for member in _members(text)
        if text[member.value_start] != "{"
    }


def json_value(text: str, name: str) -> str | None:
    """The scalar at a dotted path as text, or None when it is absent."""
    return json_settings(text).get(name)


def json_proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the key has the value (None: is absent)."""
    members = _members(text)
    found = next((member for member in members if member.path == name), None)
    if found is None:
        yield text if value is None else _added(text, members, name, value)
        return
    old = text[found.value_start : found.end]
    if old[0] in "{[":
        raise UnprovableSetting(f"the value of {name} is no scalar")
    if value is None:
        yield _removed(text, found)
    else:
        yield text[: found.value_start] + _source(old, value) + text[found.end :]


def _members(text: str) -> list[_Member]:
    try:
        json.loads(text, object_pairs_hook=_refuse_duplicates)
    except ValueError as error:
        raise UnprovableSetting(f"the file is not JSON: {error}", "mend the file first") from error
    scanner = _Scanner(text)
    scanner.value("", 0)
    return scanner.members


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise UnprovableSetting(f"{key} stands more than once in one object")
    return dict(pairs)


class _Scanner:
    """Walks over text that is known to be JSON and notes where each member stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.members: list[_Member] = []

    def value(self, path: str, depth: int) -> None:
        """Move behind one value."""
        if depth > _DEPTH_MAX:
            raise UnprovableSetting(f"the file is nested deeper than {_DEPTH_MAX}")
        self._space()
        if self.text[self.at] == "{":
            self._object(path, depth)
        elif self.text[self.at] == "[":
            self._array(path, depth)
        else:
            match = _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = match.end()

    def _object(self, path: str, depth: int) -> None:
        self.at += 1
        self._space()
        while self.text[self.at] != "}":
            start = self.at
            match = _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            key = str(json.loads(match[0]))
            self._skip(":")
            value_start = self.at
            inner = f"{path}.{key}" if path else key
            self.value(inner, depth + 1)
            self.members.append(_Member(inner, start, value_start, self.at))
            self._skip(",")
        self.at += 1

    def _array(self, path: str, depth: int) -> None:
        self.at += 1
        self._space()
        index = 0
        while self.text[self.at] != "]":
            # Members of objects in an array get a path that no knob can name.
            self.value(f"{path}[{index}]", depth + 1)
            self._skip(",")
            index += 1
        self.at += 1

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1

    def _skip(self, mark: str) -> None:
        self._space()
        if self.text[self.at] == mark:
            self.at += 1
            self._space()


def _as_text(source: str) -> str:
    return str(json.loads(source)) if source.startswith('"') else source


def _source(old: str, value: str) -> str:
    return json.dumps(value, ensure_ascii=False) if old.startswith('"') else _bare(value)


def _bare(value: str) -> str:
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    numeric = isinstance(parsed, (bool, int, float)) and value not in ("NaN", "Infinity")
    return value if numeric else json.dumps(value, ensure_ascii=False)


def _removed(text: str, member: _Member) -> str:
    """Without the member and one comma: the one behind it, else the one in front."""
    rest = text[member.end :].lstrip(_SPACE)
    if rest.startswith(","):
        rest = rest[1:]
        return text[: member.start] + rest.lstrip(_SPACE)
    head = text[: member.start].rstrip(_SPACE)
    return head.removesuffix(",") + text[member.end :]


def _added(text: str, members: list[_Member], name: str, value: str) -> str:
    parent, _, key = name.rpartition(".")
    pair = f"{json.dumps(key)}: {_bare(value)}"
    siblings = [m for m in members if m.path.rpartition(".")[0] == parent and "[" not in m.path]
    if siblings:
        last = siblings[-1]
        head = text[: last.start]
        gap = head[len(head.rstrip(_SPACE)) :]
        return f"{text[: last.end]},{gap}{pair}{text[last.end :]}"
    holder = next((m.value_start for m in members if m.path == parent), None)
    start = len(text) - len(text.lstrip(_SPACE)) if not parent else holder
    if start is None or text[start] != "{":
        raise UnprovableSetting(f"the file has no object {parent} to put {key} into")
    return f"{text[: start + 1]}{pair}{text[start + 1 :].lstrip(_SPACE)}"
