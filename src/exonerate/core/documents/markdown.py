"""Tables and text of a Markdown document, with the lines they stand on.

Theory of operation: markdown-it-py tokenises the document; its table tokens carry lines. Three
things it does not call tables are read here: tables inside code fences (tokenised again), the
same inside block quotes and lists (nested tokens, lines stay absolute), and tables that were
pasted on a single line. In those the run of `---` cells gives the number of columns, the header
is the cells before it, and every later group of that many cells is a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from exonerate.core.documents.table import COLUMNS_MAX, ROWS_MAX, Prose, Row, Table, fitted

FENCE_DEPTH_MAX = 2
LINE_CHARACTERS_MAX = 100_000

_ALIGNMENT = re.compile(r"^:?-{1,200}:?$")
_ALIGNMENT_HINT = re.compile(r"\|\s*:?-+:?\s*\|")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its depth: 1 for `#`."""

    line: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """Everything that the reader uses of a document."""

    tables: tuple[Table, ...]
    prose: tuple[Prose, ...]
    headings: tuple[Heading, ...]
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Collected:
    tables: list[Table]
    prose: list[Prose]
    headings: list[Heading]
    warnings: list[str]


def parse_markdown(text: str) -> MarkdownDocument:
    """The tables, running text and headings of a document."""
    found = _Collected([], [], [], [])
    _collect(text, first_line=1, depth=0, found=found)
    tables = sorted(found.tables, key=lambda table: table.line)
    return MarkdownDocument(
        tables=tuple(_with_context(table, found) for table in tables),
        prose=tuple(found.prose),
        headings=tuple(found.headings),
        warnings=tuple(found.warnings),
    )


def _collect(text: str, *, first_line: int, depth: int, found: _Collected) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        line = first_line + (token.map[0] if token.map else 0)
        if token.type == "table_open":
            index = _collect_table(tokens, index, first_line, found)
        elif token.type == "heading_open":
            heading = Heading(line, int(token.tag[1:]), inline_text(tokens[index + 1]))
            found.headings.append(heading)
            found.prose.append(Prose(line, heading.text))
            index += 1
        elif token.type == "inline":
            _collect_lines(token.content, line, found)
        elif token.type in ("fence", "code_block") and depth < FENCE_DEPTH_MAX:
            inside = line + (1 if token.type == "fence" else 0)
            _collect(token.content, first_line=inside, depth=depth + 1, found=found)
        elif token.type == "html_block" and "<table" in token.content.lower():
            found.warnings.append(f"line {line}: an HTML table was not read; write it with pipes")
        index += 1


def _collect_table(tokens: Sequence[Token], start: int, first_line: int, found: _Collected) -> int:
    """Add the table that opens at `start`; returns the index of its closing token."""
    rows: list[Row] = []
    cells: list[str] = []
    line, index = 0, start
    while tokens[index].type != "table_close":
        token = tokens[index]
        if token.type == "tr_open":
            cells, line = [], first_line + (token.map[0] if token.map else 0)
        elif token.type == "inline":
            cells.append(inline_text(token))
        elif token.type == "tr_close":
            rows.append(Row(line, tuple(cells)))
        index += 1
    _add_table(rows, found)
    return index


def _add_table(rows: Sequence[Row], found: _Collected) -> None:
    header, body = rows[0], _numbered(rows)
    width = len(header.cells)
    if width > COLUMNS_MAX or len(body) > ROWS_MAX:
        found.warnings.append(
            f"line {header.line}: a table with {width} columns and {len(body)} rows was not read; "
            f"the limit is {COLUMNS_MAX} columns and {ROWS_MAX} rows"
        )
        return
    fit = tuple(Row(row.line, fitted(row.cells, width)) for row in body)
    found.tables.append(Table(line=header.line, header=header.cells, rows=fit))


def _numbered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The body rows, each on its own line: the tokens of some rows carry no line."""
    first = rows[1].line if len(rows) > 1 else 0
    return tuple(replace(row, line=first + offset) for offset, row in enumerate(rows[1:]))


def _collect_lines(content: str, first_line: int, found: _Collected) -> None:
    for offset, text in enumerate(content.split("\n")):
        line = first_line + offset
        if len(text) <= LINE_CHARACTERS_MAX and _ALIGNMENT_HINT.search(text):
            tables = list(single_line_tables(text, line, found.warnings))
            if tables:
                found.tables.extend(tables)
                continue
        found.prose.append(Prose(line, text))


def single_line_tables(text: str, line: int, warnings: list[str]) -> Iterator[Table]:
    """The tables that were pasted on this one line."""
    cells = split_pipes(text)
    runs = list(_alignment_runs(cells))
    for position, (start, width) in enumerate(runs):
        header_end = start - 1 if start and cells[start - 1] == "" else start
        if header_end < width or width < 2 or width > COLUMNS_MAX:
            continue
        stop = len(cells)
        if position + 1 < len(runs):
            later_start, later_width = runs[position + 1]
            stop = later_start - later_width - 1
        rows, left = _pasted_rows(cells[start + width : stop], width, line)
        if left:
            warnings.append(
                f"line {line}: the pasted table ends in the middle of a row; "
                f"{', '.join(repr(cell) for cell in left[:4])} left out"
            )
        header = tuple(cells[header_end - width : header_end])
        yield Table(line=line, header=header, rows=rows)


def split_pipes(text: str) -> list[str]:
    """The cells between the unescaped pipes of a line, marks of emphasis and code taken off."""
    cells = re.split(r"(?<!\\)\|", text)
    return [cell.replace("\\|", "|").strip().strip("*`").strip() for cell in cells]


def _alignment_runs(cells: Sequence[str]) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(cells):
        width = 0
        while index + width < len(cells) and _ALIGNMENT.match(cells[index + width]):
            width += 1
        if width:
            yield index, width
        index += width or 1


def _pasted_rows(cells: Sequence[str], width: int, line: int) -> tuple[tuple[Row, ...], list[str]]:
    """Groups of `width` cells; one empty cell before a group is the pipe between two rows."""
    rows: list[Row] = []
    index = 0
    while index < len(cells) and len(rows) < ROWS_MAX:
        index += cells[index] == ""
        group = tuple(cells[index : index + width])
        if len(group) < width:
            return tuple(rows), [cell for cell in group if cell]
        rows.append(Row(line, group))
        index += width
    return tuple(rows), []


def inline_text(token: Token) -> str:
    """The visible text of an inline token: no emphasis marks, links as their text."""
    parts = [
        child.content if child.type in ("text", "code_inline", "text_special") else " "
        for child in token.children or []
        if child.type in ("text", "code_inline", "text_special", "softbreak", "html_inline")
        and not (child.type == "html_inline" and not _BREAK.match(child.content))
    ]
    return "".join(parts).strip()


def _with_context(table: Table, found: _Collected) -> Table:
    """The table with its heading and the text of its section and of the sections above it."""
    scope = _scope(table.line, found.headings)
    inside = tuple(
        prose for prose in found.prose if any(begin <= prose.line < end for begin, end in scope)
    )
    above = [heading.text for heading in found.headings if heading.line <= table.line]
    return replace(table, heading=above[-1] if above else "", context=inside)


def _scope(line: int, headings: Sequence[Heading]) -> list[tuple[int, int]]:
    """The ranges of lines whose text speaks about a table on that line.

    Its own section counts, and so does what each enclosing section says before its first
    subsection: a number of runs that another section states is not this table's.
    """
    last = 10**9
    ranges = [(1, headings[0].line if headings else last)]
    depth = 10
    for index in range(len(headings) - 1, -1, -1):
        heading = headings[index]
        if heading.line > line or heading.depth >= depth:
            continue
        following = headings[index + 1].line if index + 1 < len(headings) else last
        ranges.append((heading.line, following))
        depth = heading.depth
    return ranges
