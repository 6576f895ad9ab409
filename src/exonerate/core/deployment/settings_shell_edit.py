"""New shell source for one word, in the quoting style of the old one."""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z0-9_./:,@%+=-]*")


def quoted_like(old: str, value: str) -> str:
    """`value` as shell source, in double or single quotes where `old` had them."""
    if len(old) >= 2 and old[0] == old[-1] == '"':
        return '"' + re.sub(r'(["\\$`])', r"\\\1", value) + '"'
    if len(old) >= 2 and old[0] == old[-1] == "'":
        return _single_quoted(value)
    return value if _BARE.fullmatch(value) else _single_quoted(value)


def _single_quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def without_span(text: str, start: int, end: int) -> str:
    """The text without a word and the blanks that led to it; whole lines go with their end."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    before, after = text[line_start:start], text[end:line_end]
    if before.strip(" \t"):
        return text[: len(text[:start].rstrip(" \t"))] + text[end:]
    if after.strip(" \t"):
        return text[:start] + text[end:].lstrip(" \t")
    return text[:line_start] + text[line_end + 1 :]
