"""Which column is the concurrency, which are arms, which states a gain: rules, with reasons.

A header is taken apart into unit, metric, knob value and what is left. The first rule that fits
gives the column its role; a table whose columns fit no reading gives `NotUnderstood` with the
reason, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.documents.metrics import column_measure, is_other_measure, without_measure
from exonerate.core.documents.model import CellKind, DecimalMark
from exonerate.core.documents.numbers import (
    MISSING,
    Ambiguous,
    decimal_mark,
    parse_value,
    plain,
    to_float,
)
from exonerate.core.documents.table import Table

Role: TypeAlias = Literal[
    "cell", "value", "arm-name", "gain", "runs", "spread", "block", "order", "other"
]

_CELL_WORDS: tuple[tuple[CellKind, re.Pattern[str]], ...] = (
    (
        "concurrency",
        re.compile(
            r"^(max[_ ]?)?(concurrency|concurrent( (requests|users|streams|sessions))?|conc\.?"
            r"|c|clients?|users?|streams?|parallel(ism)?|in[- ]flight|cell|并发(数|度)?|"
            r"nebenläufigkeit|gleichzeitigkeit|level)( level)?( c)?$"
        ),
    ),
    ("batch", re.compile(r"^((max[_ ]?|decode )?batch([_ ]?size)?|bs|批大小|批次)$")),
    ("rate", re.compile(r"^((request|arrival|offered|target)[_ ]?(rate|load)|qps|rps|rate)$")),
)
_LOAD_CELL = re.compile(r"^(?P<name>c|bs|concurrency|batch)\s*=?\s*\d{1,7}$", re.IGNORECASE)
_CELL_VALUE = re.compile(r"^(?:c|bs|concurrency|batch)?\s*=?\s*(\d[\d,.]*)$", re.IGNORECASE)
_GAIN_WORDS = re.compile(
    r"(^|\b)(gain|change|delta|diff(erence)?|improvement|speed[- ]?up|uplift|reduction|"
    r"saving|increase|decrease|overhead|"
    r"ratio|vs\.?|gewinn|änderung|veränderung)(\b|$)|^[Δ∆%]|提升|变化|增益",
    re.IGNORECASE,
)
_STRUCTURE_WORDS: dict[Role, re.Pattern[str]] = {
    "runs": re.compile(r"^(n|runs|repeats|repetitions|restarts|samples)$"),
    "spread": re.compile(r"^(±|(std|sd|stdev|stddev|sigma|σ|ci|cv|spread)\b.*)$"),
    "block": re.compile(r"^(block|restart|session|round|pair)( (id|no|number))?$"),
    "order": re.compile(r"^(order|position|sequence|seq)$"),
    "arm-name": re.compile(
        r"^(arm|variant|config(uration)?|setting|version|build|branch|mode|setup|treatment|"
        r"group|label|knob)$"
    ),
}
_KNOB_VALUE = re.compile(r"(?P<knob>[A-Za-z_][\w.\-]{0,80})\s*=\s*(?P<value>[^\s,;()\[\]]{1,60})")
_BRACKETS = re.compile(r"[(\[](?P<inside>[^()\[\]]{1,60})[)\]]")
_KNOB_NAME = re.compile(r"^(--[a-z][\w-]*|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+)$")
_BASELINE = re.compile(
    r"\b(baseline|base|before|old|control|reference|ref|default|off|main|master|current|stock)\b|"
    r"基线|\bvorher\b|\balt\b"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its role, and for a value column the arm and the metric it belongs to."""

    index: int
    header: str
    role: Role
    arm: str = ""
    measure: str | None = None
    unit: str | None = None
    knob: str | None = None
    is_baseline: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of a table's columns and how each came about."""

    cell: Column
    cell_kind: CellKind
    values: tuple[Column, ...]
    gains: tuple[Column, ...]
    structure: tuple[Column, ...]
    mark: DecimalMark | None
    mapping: tuple[str, ...]

    def of_role(self, role: Role) -> Column | None:
        """The first structural column of that role."""
        return next((column for column in self.structure if column.role == role), None)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Why no comparison was taken from a table; `benign` where the table is about other things."""

    reason: str
    benign: bool = False


def assign_roles(table: Table, mark: DecimalMark | None = None) -> Columns | NotUnderstood:
    """Every column's role by rules, or what was not understood."""
    if not table.rows:
        return NotUnderstood("it has no rows", benign=True)
    mark = mark or decimal_mark(cell for row in table.rows for cell in row.cells)
    columns = [_column(table, index, mark) for index in range(len(table.header))]
    values = tuple(column for column in columns if column.role == "value")
    cells = [column for column in columns if column.role == "cell"]
    if not values:
        return _without_values(table, mark, about_load=bool(cells))
    cell = _cell_column(table, cells)
    if isinstance(cell, NotUnderstood):
        return cell
    ambiguous = _ambiguous_cell(table, (cell, *values), mark)
    if ambiguous is not None:
        return _ambiguity(ambiguous)
    gains = tuple(column for column in columns if column.role == "gain")
    structure = tuple(column for column in columns if column.role in _STRUCTURE_WORDS)
    kind = _cell_kind(_words(cell.header)) or _kind_in_cells(table.column(cell.index))
    return Columns(
        cell=cell,
        cell_kind=kind,
        values=values,
        gains=gains,
        structure=structure,
        mark=mark,
        mapping=_mapping(cell, kind, values, gains, structure),
    )


def arm_label(header: str) -> tuple[str, str | None]:
    """The arm that a header names and the knob: `TARGET_CTAS=512` is arm 512 of TARGET_CTAS."""
    text = header.strip()
    assignment = _KNOB_VALUE.search(text)
    if assignment:
        return assignment["value"].strip("`'\""), assignment["knob"]
    for bracket in _BRACKETS.finditer(text):
        inside = bracket["inside"].strip()
        if re.search(r"\d", inside) and column_measure(inside) is None:
            return inside, None
    return without_measure(text), None


def _column(table: Table, index: int, mark: DecimalMark | None) -> Column:
    header = table.header[index]
    words = _words(header)
    cells = table.column(index)
    if _names_loads(words, cells):
        return Column(index, header, "cell")
    if _GAIN_WORDS.search(header):
        return Column(index, header, "gain", unit=_gain_unit(header))
    for role, pattern in _STRUCTURE_WORDS.items():
        if pattern.match(words):
            return Column(index, header, role)
    if _KNOB_NAME.match(header) and len(set(cells)) < len(cells):
        return Column(index, header, "arm-name", knob=header)
    if is_other_measure(header) or not _numeric(cells, mark):
        return Column(index, header, "other")
    arm, knob = arm_label(header)
    return Column(
        index,
        header,
        "value",
        arm=arm,
        measure=column_measure(header),
        knob=knob,
        is_baseline=bool(_BASELINE.search(header.lower())),
    )


def _names_loads(words: str, cells: tuple[str, ...]) -> bool:
    """Whether a column holds loads: its header says so, or each cell does (`C64`, `bs=8`)."""
    if _cell_kind(words) is not None or all(_LOAD_CELL.match(plain(cell)) for cell in cells):
        return True
    return words == "" and all(_CELL_VALUE.match(plain(cell)) for cell in cells)


def _words(header: str) -> str:
    bare = _BRACKETS.sub(" ", header.lower()).replace("_", " ")
    return " ".join(bare.split()).strip(" :#*`=")


def _cell_kind(words: str) -> CellKind | None:
    return next((kind for kind, pattern in _CELL_WORDS if pattern.match(words)), None)


def _kind_in_cells(cells: tuple[str, ...]) -> CellKind:
    match = _LOAD_CELL.match(plain(cells[0]))
    return "batch" if match and match["name"].lower() in ("bs", "batch") else "concurrency"


def _gain_unit(header: str) -> str | None:
    if "%" in header:
        return "%"
    return "ratio" if re.search(r"ratio|speed[- ]?up|\b[x×]\b", header.lower()) else None


def _numeric(cells: tuple[str, ...], mark: DecimalMark | None) -> bool:
    """Whether a column holds numbers: at least one, and nothing else but gaps."""
    filled = [cell for cell in cells if plain(cell).lower() not in MISSING]
    return bool(filled) and all(parse_value(cell, mark) is not None for cell in filled)


def _cell_column(table: Table, cells: list[Column]) -> Column | NotUnderstood:
    if not cells:
        return NotUnderstood(
            "no column names a concurrency, batch or rate; give one a header such as `Concurrency`"
        )
    varying = [column for column in cells if len(set(table.column(column.index))) > 1]
    if len(varying) > 1:
        names = " and ".join(f"`{column.header}`" for column in varying[:3])
        return NotUnderstood(f"{names} could both be the load of a row; keep one of them")
    return varying[0] if varying else cells[0]


def cell_number(text: str, mark: DecimalMark | None) -> float | Ambiguous | None:
    """The load in `64`, `C64` or `bs=64`."""
    match = _CELL_VALUE.match(plain(text))
    return to_float(match.group(1), mark) if match else None


def _ambiguous_cell(
    table: Table, columns: tuple[Column, ...], mark: DecimalMark | None
) -> str | None:
    for row in table.rows:
        for column in columns:
            text = row.cells[column.index]
            read = cell_number(text, mark) if column.role == "cell" else parse_value(text, mark)
            if isinstance(read, Ambiguous):
                return plain(text)
    return None


def _ambiguity(text: str) -> NotUnderstood:
    return NotUnderstood(
        f"`{text}` can be read in two ways (a decimal comma or a thousands separator); "
        "say which with --decimal comma or --decimal point"
    )


def _without_values(table: Table, mark: DecimalMark | None, *, about_load: bool) -> NotUnderstood:
    numbers = [parse_value(cell, mark) for row in table.rows for cell in row.cells]
    if not any(numbers):
        return NotUnderstood("it holds no numbers", benign=True)
    return NotUnderstood("no column holds measured values of an arm", benign=not about_load)


def _mapping(
    cell: Column,
    kind: CellKind,
    values: tuple[Column, ...],
    gains: tuple[Column, ...],
    structure: tuple[Column, ...],
) -> tuple[str, ...]:
    lines = [f"`{cell.header}` is the {kind} of each row"]
    for column in values:
        knob = f" (a value of `{column.knob}`)" if column.knob else ""
        lines.append(f"`{column.header}` holds values of arm `{column.arm}`{knob}")
    lines += [f"`{column.header}` states a gain" for column in gains]
    lines += [f"`{column.header}` gives the {column.role}" for column in structure]
    return tuple(lines)
