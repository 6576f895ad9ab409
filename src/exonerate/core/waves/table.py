"""A throughput table: tokens per second at a concurrency and a target, with repeats counted."""

from __future__ import annotations

import contextlib
import csv
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.json_types import Json
from exonerate.core.waves.model import checked_concurrency, checked_target
from exonerate.errors import ExonerateError

_METRIC = "tokens_per_s"
READING_SCHEMA = "exonerate.reading/1"
CELLS_MIN = 5
CONCURRENCIES_MIN = 3
CELLS_MAX = 128
# Tokens per second: from one in days to more than any machine makes.
VALUE_MIN, VALUE_MAX = 1e-6, 1e12
_COLUMNS = ("concurrency", "target", "value")
_CSV_HINT = "write three columns with a header: `concurrency,target,value`, value in tokens/s"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the geometric mean of `repeats` values in tokens per second."""

    concurrency: int
    target: int
    value: float
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """The cells in order of target, then concurrency."""

    cells: tuple[Cell, ...]

    @property
    def concurrencies(self) -> tuple[int, ...]:
        """Distinct concurrencies, ascending."""
        return tuple(sorted({cell.concurrency for cell in self.cells}))

    @property
    def targets(self) -> tuple[int, ...]:
        """Distinct targets, ascending."""
        return tuple(sorted({cell.target for cell in self.cells}))

    @property
    def repeats_min(self) -> int:
        """Repeats of the cell that has fewest."""
        return min(cell.repeats for cell in self.cells)


def table_of(rows: Iterable[tuple[int, int, float]]) -> Table:
    """A table from (concurrency, target, value); repeats are averaged; too few are refused."""
    values: dict[tuple[int, int], list[float]] = {}
    for concurrency, target, value in rows:
        key = (checked_target(target), checked_concurrency(concurrency))
        if not VALUE_MIN <= value <= VALUE_MAX:
            raise ExonerateError(
                f"the value at concurrency {concurrency}, target {target} is {value}",
                "a throughput in tokens per second is above 0 and finite; leave out failed cells",
            )
        values.setdefault(key, []).append(value)
    cells = tuple(
        Cell(concurrency, target, _mean(found), len(found))
        for (target, concurrency), found in sorted(values.items())
    )
    return _large_enough(Table(cells))


def _mean(values: Sequence[float]) -> float:
    # One value stays what was written; through logarithms it would not.
    return values[0] if len(values) == 1 else statistics.geometric_mean(values)


def _large_enough(table: Table) -> Table:
    count, levels = len(table.cells), len({cell.concurrency for cell in table.cells})
    if count > CELLS_MAX:
        raise ExonerateError(
            f"the table has {count} cells; at most {CELLS_MAX} are fitted",
            "give one table, not a whole archive",
        )
    if count < CELLS_MIN or levels < CONCURRENCIES_MIN:
        raise ExonerateError(
            f"the table has {count} {'cell' if count == 1 else 'cells'} over {levels} "
            f"{'concurrency' if levels == 1 else 'concurrencies'}: too few for a fit",
            f"the model has three constants and a rule: give at least {CELLS_MIN} cells over "
            f"{CONCURRENCIES_MIN} concurrencies",
        )
    return table


def parse_csv(text: str) -> Table:
    """A table from CSV text with the columns concurrency, target and value, in any order."""
    try:
        rows = list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise ExonerateError(f"the file is not CSV: {error}", _CSV_HINT) from error
    names = [name.strip().lower() for name in rows[0]] if rows else []
    if any(names.count(column) != 1 for column in _COLUMNS):
        found = ", ".join(f"`{name}`" for name in names) or "nothing"
        raise ExonerateError(f"the CSV's columns are {found}", _CSV_HINT)
    at = [names.index(column) for column in _COLUMNS]
    return table_of(
        _csv_row([row[index] if index < len(row) else "" for index in at], line)
        for line, row in enumerate(rows[1:], start=2)
        if any(field.strip() for field in row)
    )


def _csv_row(fields: Sequence[str], line: int) -> tuple[int, int, float]:
    concurrency, target, value = fields
    return (
        _whole(concurrency, "concurrency", line),
        _whole(target, "target", line),
        _number(value, line),
    )


def _whole(text: str, column: str, line: int) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ExonerateError(
            f"line {line}: {column} is `{text}`, not a whole number", _CSV_HINT
        ) from error


def _number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ExonerateError(f"line {line}: value is `{text}`, not a number", _CSV_HINT) from error


def parse_reading(text: str, *, arms: Mapping[str, int], comparison: int | None) -> Table:
    """A table from the JSON of `read --json`.

    Args:
        arms: target of each arm whose name is not a number.
        comparison: which comparison of the reading, counted from 1; None where there is one.
    """
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExonerateError(
            f"the file is not JSON: {error}", "make it with `exonerate read FILE --json`"
        ) from error
    return table_of_reading(document, arms=arms, comparison=comparison)


def table_of_reading(document: Json, *, arms: Mapping[str, int], comparison: int | None) -> Table:
    """The same from the reading itself."""
    if not isinstance(document, Mapping) or document.get("schema") != READING_SCHEMA:
        raise ExonerateError(
            f"the JSON does not say schema `{READING_SCHEMA}`",
            "make it with `exonerate read FILE --json`",
        )
    chosen = _choose(list(_comparisons(document)), comparison)
    metric = str(chosen.get("metric", _METRIC))
    if not metric.endswith(_METRIC):
        raise ExonerateError(
            f"the comparison is of `{metric}`",
            "the model explains output tokens per second; choose such a table with `--comparison`",
        )
    return table_of(_rows(chosen, arms))


def _comparisons(document: Mapping[str, Json]) -> Iterable[Mapping[str, Json]]:
    for source in _list(document.get("sources")):
        if isinstance(source, Mapping):
            for comparison in _list(source.get("comparisons")):
                if isinstance(comparison, Mapping):
                    yield comparison


def _choose(found: Sequence[Mapping[str, Json]], number: int | None) -> Mapping[str, Json]:
    if not found:
        raise ExonerateError(
            "the reading holds no comparison", "look at its warnings: `exonerate read FILE`"
        )
    # A table that was pasted a second time is not a second table.
    distinct = [one for index, one in enumerate(found) if not _same_cells(one, found[:index])]
    if number is None and len(distinct) > 1:
        lines = ", ".join(str(one.get("line")) for one in found)
        raise ExonerateError(
            f"the reading holds {len(found)} comparisons, at lines {lines}",
            f"choose one with `--comparison 1` to `--comparison {len(found)}`",
        )
    if number is None:
        return distinct[0]
    if not 1 <= number <= len(found):
        raise ExonerateError(
            f"there is no comparison {number}", f"the reading holds {len(found)}, counted from 1"
        )
    return found[number - 1]


def _same_cells(one: Mapping[str, Json], others: Sequence[Mapping[str, Json]]) -> bool:
    def cells(of: Mapping[str, Json]) -> list[Json]:
        return [
            {"cell": cell.get("cell"), "values": cell.get("values")}
            for cell in _list(of.get("cells"))
            if isinstance(cell, Mapping)
        ]

    return any(cells(one) == cells(other) for other in others)


def _rows(
    comparison: Mapping[str, Json], arms: Mapping[str, int]
) -> Iterable[tuple[int, int, float]]:
    for cell in _list(comparison.get("cells")):
        values = cell.get("values") if isinstance(cell, Mapping) else None
        if not isinstance(cell, Mapping) or not isinstance(values, Mapping):
            raise _broken("a cell without `values`")
        concurrency = cell.get("cell")
        if not isinstance(concurrency, int) or isinstance(concurrency, bool):
            raise _broken(f"cell `{concurrency}`, which is not a concurrency")
        for arm, value in values.items():
            if value is None:
                continue
            yield concurrency, target_of_arm(str(arm), arms), _reading_value(value, concurrency)


def _reading_value(value: Json, concurrency: int) -> float:
    if not isinstance(value, bool) and isinstance(value, int | float):
        # A whole number of hundreds of digits is JSON, but no throughput.
        with contextlib.suppress(OverflowError):
            return float(value)
    raise _broken(f"value `{str(value)[:40]}` at cell {concurrency}")


def target_of_arm(arm: str, arms: Mapping[str, int]) -> int:
    """The target that an arm's name means: given, or the name itself where it is a number."""
    if arm in arms:
        return arms[arm]
    if arm.strip().isdecimal():
        return int(arm)
    raise ExonerateError(
        f"arm `{arm}` is not a number, so its target is unknown",
        f"say which target it was: `--arm '{arm}=256'`",
    )


def _broken(what: str) -> ExonerateError:
    return ExonerateError(
        f"the reading holds {what}", "make it again with `exonerate read FILE --json`"
    )


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
