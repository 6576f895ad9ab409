"""CSV and JSON Lines with a header: the same table as in a document, with a line per row."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from exonerate.core.documents.table import COLUMNS_MAX, ROWS_MAX, Prose, Row, Table, fitted
from exonerate.core.json_types import Json

_DELIMITERS = ",;\t"


def csv_table(text: str) -> Table | None:
    """The table of a CSV text, or None when it is not one. `#` lines before it are its text."""
    if text.count("\n") > 2 * ROWS_MAX:
        return None
    comments, body, skipped = _split_comments(text)
    delimiter = _delimiter(body)
    if delimiter is None:
        return None
    try:
        reader = csv.reader(io.StringIO(body), delimiter=delimiter, strict=True)
        lines = [(reader.line_num + skipped, row) for row in reader if any(row)]
    except csv.Error:
        return None
    if len(lines) < 2 or len(lines) > ROWS_MAX or not 2 <= len(lines[0][1]) <= COLUMNS_MAX:
        return None
    line, header = lines[0]
    rows = tuple(Row(at, fitted([c.strip() for c in row], len(header))) for at, row in lines[1:])
    names = tuple(name.strip() for name in header)
    if len(set(names)) < len(names) or any("{" in name or name == "" for name in names):
        return None
    return Table(line=line, header=names, rows=rows, context=comments)


def object_table(objects: Sequence[Json]) -> Table | None:
    """The table of JSON objects with the same flat keys, or None."""
    header: dict[str, None] = {}
    for entry in objects:
        if isinstance(entry, dict):
            header.update(dict.fromkeys(entry))
    if not 2 <= len(header) <= COLUMNS_MAX or len(objects) > ROWS_MAX:
        return None
    rows = []
    for line, entry in enumerate(objects, start=1):
        assert isinstance(entry, dict)
        rows.append(Row(line, tuple(_cell(entry.get(key)) for key in header)))
    return Table(line=1, header=tuple(header), rows=tuple(rows))


def _cell(value: Json) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value)[:200]


def _split_comments(text: str) -> tuple[tuple[Prose, ...], str, int]:
    lines = text.split("\n")
    count = 0
    while count < len(lines) and (lines[count].startswith("#") or not lines[count].strip()):
        count += 1
    comments = tuple(Prose(at, line.lstrip("# ")) for at, line in enumerate(lines[:count], 1))
    return comments, "\n".join(lines[count:]), count


def _delimiter(body: str) -> str | None:
    """The delimiter that gives the first two lines the same number of columns, two at least."""
    lines = [line for line in body.split("\n", 50) if line.strip()][:2]
    if len(lines) < 2:
        return None
    for delimiter in _DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, strict=True)]
        except csv.Error:
            continue
        if len(counts) == 2 and counts[0] == counts[1] >= 2:
            return delimiter
    return None
