"""Where in a TOML text a key stands, for errors that name the line.

`tomllib` gives positions for syntax errors only. A small scan of headers and keys finds the rest;
it trusts that the text has already been accepted by `tomllib`.
"""

from __future__ import annotations

import re
from collections import Counter

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""^\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_-]+))\s*=""")


def key_lines(text: str) -> dict[KeyPath, int]:
    """1-based line of every header and key: `("hop", 1, "url")` is the second hop's url."""
    lines: dict[KeyPath, int] = {}
    array_counts: Counter[str] = Counter()
    section: KeyPath = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            name = header.group(2).strip().strip("\"'")
            if header.group(1) == "[[":
                section = (name, array_counts[name])
                array_counts[name] += 1
            else:
                section = (name,)
            lines.setdefault(section, number)
            continue
        key = _KEY.match(line)
        if key:
            name = next(group for group in key.groups() if group is not None)
            lines.setdefault((*section, name), number)
    return lines
