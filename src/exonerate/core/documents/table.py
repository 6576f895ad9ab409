"""A table as it stands in a document, before anybody has said what its columns mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ROWS_MAX = 5_000
COLUMNS_MAX = 64


@dataclass(frozen=True, slots=True)
class Row:
    """The text of one row's cells, and its 1-based line."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A line of running text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Header, rows and the text that belongs to it; `line` is the 1-based line of the header."""

    line: int
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    heading: str = ""
    context: tuple[Prose, ...] = ()

    def column(self, index: int) -> tuple[str, ...]:
        """Every row's cell of that column."""
        return tuple(row.cells[index] for row in self.rows)


def fitted(cells: Sequence[str], width: int) -> tuple[str, ...]:
    """The cells cut or filled up to the width of the header."""
    return (*cells[:width], *([""] * (width - len(cells))))
