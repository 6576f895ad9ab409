"""Environment files as systemd reads them (`EnvironmentFile=`).

The states and their rules are those of systemd's `parse_env_file_internal` (src/basic/env-file.c):
a later assignment wins, `#` and `;` start comments, quotes may open only where a value (or a part
behind a closed quote) begins, an unquoted value ends without its trailing blanks, nothing is
expanded, and a name that is no environment name (`export A`) is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exonerate.core.deployment.settings_error import UnprovableSetting, line_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NEWLINE = "\n\r"
_BLANK = " \t\n\r"
_DOUBLE_ESCAPES = '"\\`$'
_BARE = re.compile(r"[A-Za-z0-9_./:,@%+=-]([A-Za-z0-9_./:,@%+= #;-]*[A-Za-z0-9_./:,@%+=-])?")


@dataclass(frozen=True, slots=True)
class EnvironmentLine:
    """One assignment: offsets of its line (without the line end) and of its value's source."""

    name: str
    value: str
    start: int
    value_start: int
    end: int


def environment_settings(text: str) -> dict[str, str]:
    """Every variable of the file; a later line wins."""
    return {line.name: line.value for line in _lines(text)}


def environment_value(text: str, name: str) -> str | None:
    """The value systemd takes, or None when no line gives one."""
    if not _NAME.fullmatch(name):
        raise UnprovableSetting(f"`{name}` is no name of an environment variable")
    found = [line for line in _lines(text) if line.name == name]
    return found[-1].value if found else None


def environment_proposals(text: str, name: str, value: str | None) -> Iterator[str]:
    """New texts in which the variable has the value (None: is not set)."""
    found = [line for line in _lines(text) if line.name == name]
    if not found:
        yield text if value is None else _added(text, f"{name}={_source('', value)}")
    elif value is None:
        yield _without_line(text, found[-1])
    elif value == found[-1].value:
        yield text
    else:
        line = found[-1]
        old = text[line.value_start : line.end]
        yield text[: line.value_start] + _source(old, value) + text[line.end :]


def _lines(text: str) -> Iterator[EnvironmentLine]:
    at = 0
    while at < len(text):
        if text[at] in _BLANK:
            at += 1
        elif text[at] in "#;":
            at = _comment_end(text, at)
        else:
            line, at = _assignment(text, at)
            if line is not None and _NAME.fullmatch(line.name):
                yield line


def _comment_end(text: str, start: int) -> int:
    at = start
    while at < len(text) and text[at] not in _NEWLINE:
        at += 1
    if text[at - 1] == "\\":
        # Whether the comment goes on in the next line depends on the version of systemd.
        raise UnprovableSetting(f"line {line_of(text, start)}: a comment ends in a backslash")
    return at


def _assignment(text: str, start: int) -> tuple[EnvironmentLine | None, int]:
    at = start
    while at < len(text) and text[at] not in _NEWLINE and text[at] != "=":
        at += 1
    if at >= len(text) or text[at] != "=":
        return None, at
    name = text[start:at].rstrip(" \t")
    reader = _ValueReader(text, at + 1)
    reader.read()
    # Blanks between the sign and the value stay as they are.
    value_start = at + 1 + _blank_count(text, at + 1)
    end = max(value_start, len(text[: reader.at].rstrip(" \t")))
    return EnvironmentLine(name, reader.value, start, min(value_start, end), end), reader.at


def _blank_count(text: str, start: int) -> int:
    count = 0
    while text[start + count : start + count + 1] in (" ", "\t"):
        count += 1
    return count


class _ValueReader:
    """Reads one value up to the end of its line; quoted parts may follow one another."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.value = ""

    def read(self) -> None:
        """Parts until the line ends; each step moves on."""
        while self.at < len(self.text) and self.text[self.at] not in _NEWLINE:
            character = self.text[self.at]
            if character == "'":
                self._quoted("'")
            elif character == '"':
                self._quoted('"')
            elif character in " \t":
                self.at += 1
            else:
                self._bare()

    def _bare(self) -> None:
        kept = ""
        length = 0
        while self.at < len(self.text) and self.text[self.at] not in _NEWLINE:
            character = self.text[self.at]
            if character == "\\":
                kept += self._escaped()
                length = len(kept)
                continue
            kept += character
            length = length if character in " \t" else len(kept)
            self.at += 1
        self.value += kept[:length]

    def _escaped(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if following and following in _NEWLINE else following

    def _quoted(self, quote: str) -> None:
        opened = self.at
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == quote:
                return
            if character == "\\" and quote == '"':
                self.value += self._escaped_in_double()
            else:
                self.value += character
        raise UnprovableSetting(f"line {line_of(self.text, opened)}: `{quote}` is not closed")

    def _escaped_in_double(self) -> str:
        following = self.text[self.at : self.at + 1]
        self.at += 1
        if following and following in _DOUBLE_ESCAPES:
            return following
        return "" if following == "\n" else "\\" + following


def _source(old: str, value: str) -> str:
    if len(old) >= 2 and old[0] == old[-1] == "'" and "'" not in value:
        return f"'{value}'"
    was_double = len(old) >= 2 and old[0] == old[-1] == '"'
    if not was_double and (value == "" or _BARE.fullmatch(value)):
        return value
    return '"' + re.sub(r'(["\\`$])', r"\\\1", value) + '"'


def _added(text: str, line: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    if text and text[-1] not in _NEWLINE:
        # The file had no final newline, and still has none.
        return f"{text}{end}{line}"
    return f"{text}{line}{end}"


def _without_line(text: str, line: EnvironmentLine) -> str:
    start = max(text.rfind("\n", 0, line.start), text.rfind("\r", 0, line.start)) + 1
    rest = text[line.end :].lstrip(" \t")
    if rest == "" and start > 0:
        # The last line of a file without a final newline: the one before it ends the file now.
        head = text[:start]
        return head[: -2 if head.endswith("\r\n") else -1]
    for newline in ("\r\n", "\n", "\r"):
        if rest.startswith(newline):
            return text[:start] + rest[len(newline) :]
    return text[:start] + rest
