"""Pieces of Markdown from untrusted text: tables, lists, code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from exonerate.report.phrases import escaped_markdown


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """A pipe table; the last `numbers` columns are set to the right."""
    width = len(header)
    marks = ["---"] * (width - numbers) + ["---:"] * numbers
    lines = [_row(header), "|" + "|".join(marks) + "|"]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def bullets(items: Iterable[str]) -> str:
    """A list with an item per line."""
    return "\n".join(f"- {escaped_markdown(item)}" for item in items)


def fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped_markdown(cell) or " " for cell in cells) + " |"
