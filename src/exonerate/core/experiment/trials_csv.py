"""Trials from a CSV file that anyone recorded; every complaint names the file and the line.

Columns `block,order,arm,cell,value` in any order, further columns are ignored; lines that are
empty or begin with `#` are skipped. One row is one cell of one restart. A row that cannot be
meant as it stands is refused rather than repaired: a wrong number is worse than none.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence

from exonerate.core.stats.trials import Cell, Trial
from exonerate.errors import ExonerateError

COLUMNS = ("block", "order", "arm", "cell", "value")
ROWS_MAX = 200_000
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def read_trials(content: bytes, name: str) -> tuple[Trial, ...]:
    """Every trial of the file `name`, in its order.

    Raises:
        ExonerateError: it is no such table, or a row cannot be used; names the line.
    """
    rows = _rows(content, name)
    header_line, header = next(rows, (1, []))
    places = _places(header, f"{name}:{header_line}")
    trials: dict[tuple[str, str, Cell], Trial] = {}
    for line, row in rows:
        trial = _trial(row, places, len(header), where=f"{name}:{line}", line=line)
        key = (trial.block, trial.arm, trial.cell)
        if key in trials:
            raise ExonerateError(
                f"{name}:{line}: block {trial.block} already has arm {trial.arm} at cell "
                f"{trial.cell} in line {trials[key].line}",
                "one row is one cell of one restart; give a repeated restart a block of its own",
            )
        trials[key] = trial
        if len(trials) > ROWS_MAX:
            raise ExonerateError(
                f"{name}:{line}: more than {ROWS_MAX} trials",
                "give one row for each restart and cell, not one for each request",
            )
    if not trials:
        raise ExonerateError(f"{name}: no trial below the header", f"columns: {','.join(COLUMNS)}")
    return tuple(trials.values())


def choose_arms(
    trials: Sequence[Trial], name: str, *, baseline: str | None, candidate: str | None
) -> tuple[str, str]:
    """Baseline and candidate: as asked for, else the first arm of the file and the other one."""
    lines: dict[str, int] = {}
    for trial in trials:
        lines.setdefault(trial.arm, trial.line or 0)
    arms = list(lines)
    for option, wanted in (("--baseline", baseline), ("--candidate", candidate)):
        if wanted is not None and wanted not in lines:
            raise ExonerateError(
                f"{name}: no arm is called `{wanted}`, as {option} says",
                f"the arms are {', '.join(f'`{arm}`' for arm in arms)}",
            )
    first = baseline if baseline is not None else next(arm for arm in arms if arm != candidate)
    others = [arm for arm in arms if arm != first] if candidate is None else [candidate]
    if not others or others == [first]:
        raise ExonerateError(
            f"{name}: the only arm is `{first}`", "a comparison needs the rows of a second arm"
        )
    if len(others) > 1:
        raise ExonerateError(
            f"{name}:{lines[others[1]]}: a third arm, `{others[1]}`, besides `{first}` and "
            f"`{others[0]}`",
            "compare two at a time: name them with `--baseline` and `--candidate`",
        )
    return first, others[0]


def _rows(content: bytes, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and stripped fields of every row that holds something."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExonerateError(
            f"{name}: byte {error.start} is not UTF-8", "save the table as UTF-8 text"
        ) from error
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ExonerateError(
                f"{name}:{reader.line_num}: {error}",
                "this is not a table of comma-separated values",
            ) from error
        if row is None:
            return
        fields = [field.strip() for field in row]
        if any(fields) and not fields[0].startswith("#"):
            yield reader.line_num, fields


def _places(header: list[str], where: str) -> dict[str, int]:
    names = [field.lower() for field in header]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        found = ", ".join(f"`{field[:40]}`" for field in header[:12]) or "nothing"
        raise ExonerateError(
            f"{where}: no column {', '.join(f'`{column}`' for column in missing)}; found {found}",
            f"the first line names the columns, separated by commas: {','.join(COLUMNS)}",
        )
    twice = [column for column in COLUMNS if names.count(column) > 1]
    if twice:
        raise ExonerateError(
            f"{where}: the column `{twice[0]}` stands there twice", "leave one of them"
        )
    return {column: names.index(column) for column in COLUMNS}


def _trial(row: list[str], places: dict[str, int], width: int, *, where: str, line: int) -> Trial:
    if len(row) != width:
        raise ExonerateError(
            f"{where}: {len(row)} fields where the header has {width}",
            "a decimal comma splits a number in two; write 719.5, or quote the field",
        )
    block, arm = row[places["block"]], row[places["arm"]]
    for column, text in (("block", block), ("arm", arm)):
        if not text:
            raise ExonerateError(
                f"{where}: `{column}` is empty", "every row names its block and arm"
            )
    return Trial(
        block=block,
        order=_order(row[places["order"]], where),
        arm=arm,
        cell=_cell(row[places["cell"]], where),
        value=_positive(row[places["value"]], where, "value"),
        line=line,
    )


def _order(text: str, where: str) -> int:
    number = _positive(text, where, "order")
    if number != int(number):
        raise ExonerateError(
            f"{where}: `order` is {text}; a place in the block is a whole number",
            "count the restarts inside each block from 1",
        )
    return int(number)


def _cell(text: str, where: str) -> Cell:
    number = _positive(text, where, "cell")
    return int(number) if number == int(number) else number


def _positive(text: str, where: str, column: str) -> float:
    """A number above zero: ratios need it, and a zero is a failed measurement, not a speed."""
    if not _NUMBER.fullmatch(text):
        raise ExonerateError(
            f"{where}: `{column}` is {text[:40]!r}, not a number",
            "leave the row out if that cell was not measured",
        )
    number = float(text)
    if not math.isfinite(number) or number <= 0:
        raise ExonerateError(
            f"{where}: `{column}` is {text}; it must be above 0 and finite",
            "values are compared as ratios; leave the row out if that cell failed",
        )
    return number
