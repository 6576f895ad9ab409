"""From a table to comparisons: arms paired, gains recomputed, dips suspected.

A table is wide (one column per arm) or long (one row per arm and cell). Both become samples
`arm -> cell -> values`; more than two arms become one comparison per candidate against the
baseline. The baseline is the arm whose header says so, else the first one.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from exonerate.core.documents.columns import (
    Column,
    Columns,
    NotUnderstood,
    assign_roles,
    cell_number,
)
from exonerate.core.documents.metrics import Metric, resolve_metric
from exonerate.core.documents.model import (
    CellKind,
    CellRow,
    Comparison,
    DecimalMark,
    Dip,
    Stated,
    Value,
)
from exonerate.core.documents.numbers import (
    bracket_gain,
    parse_gain,
    parse_value,
    plain,
)
from exonerate.core.documents.table import Row, Table

ARMS_MAX = 16
DIP_MARGIN = 0.02
"""A drop from one cell to the next counts from 2 %, the margin of an A/B's scaling anomalies."""

# Two equal arms, one run each, with run-to-run SD s: the difference of their logs has SD
# s*sqrt(2), and in every second such pair it is larger than 0.6745 of that (normal quartile).
_COIN_TOSS = 0.6745 * math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Sample:
    """One printed value, the row it stands in and the gain stated beside it."""

    value: Value
    row: Row
    stated: Stated | None = None


Samples = dict[str, dict[float, list[Sample]]]


def comparisons_of(
    table: Table, mark: DecimalMark | None = None
) -> tuple[Comparison, ...] | NotUnderstood:
    """Every comparison that a table holds, or what was not understood."""
    columns = assign_roles(table, mark)
    if isinstance(columns, NotUnderstood):
        return columns
    arm_column = columns.of_role("arm-name")
    if arm_column is not None:
        return _from_long(table, columns, arm_column)
    return _from_wide(table, columns)


def coin_toss_sd(baseline: float, candidate: float) -> float:
    """The run-to-run SD at which two equal arms differ this much in every second comparison."""
    return abs(math.log(candidate / baseline)) / _COIN_TOSS


def dips(
    arm: str, values: Mapping[float, float], other: str, others: Mapping[float, float]
) -> tuple[Dip, ...]:
    """Cells of one arm that fall below the cell before them; `removed_by` an arm without it."""
    found = []
    loads = sorted(values)
    for lower, higher in itertools.pairwise(loads):
        drop = 1 - values[higher] / values[lower]
        if drop <= DIP_MARGIN:
            continue
        seen = lower in others and higher in others
        removed = seen and 1 - others[higher] / others[lower] <= DIP_MARGIN
        sd = coin_toss_sd(values[lower], values[higher])
        found.append(Dip(arm, (lower, higher), drop, other if removed else None, sd))
    return tuple(found)


def pair(
    samples: Mapping[str, Mapping[float, Sequence[Sample]]],
    arms: tuple[str, str],
    *,
    metric: Metric,
    line: int,
    cell_kind: CellKind,
) -> Comparison:
    """The comparison of two arms over every cell that one of them has."""
    baseline, candidate = (samples[arm] for arm in arms)
    cells = sorted({*baseline, *candidate})
    rows = tuple(_cell_row(cell, arms, baseline, candidate, metric) for cell in cells)
    means = [
        {row.cell: row.values[arm].number for row in rows if arm in row.values} for arm in arms
    ]
    found: tuple[Dip, ...] = ()
    if not metric.lower_is_better:
        found = dips(arms[0], means[0], arms[1], means[1])
        found += dips(arms[1], means[1], arms[0], means[0])
    return Comparison(
        line=line,
        metric=metric.name,
        unit=metric.unit,
        arms=arms,
        knob=None,
        cell_kind=cell_kind,
        cells=rows,
        mapping=(),
        dips=found,
    )


def _from_wide(table: Table, columns: Columns) -> tuple[Comparison, ...] | NotUnderstood:
    repeated = _hidden_dimension(table, columns, [])
    if repeated is not None:
        return repeated
    groups = _by_measure(_arm_columns(columns.values))
    if all(len(group) == 1 for group in groups.values()):
        names = ", ".join(f"`{column.header}`" for column in columns.values[:6])
        several = len(columns.values) > 1
        what = "are different metrics, not arms" if several else "is one arm, and one is not a pair"
        return NotUnderstood(f"{names} {what}", benign=True)
    found: list[Comparison] = []
    for group in groups.values():
        if len(group) < 2:
            continue
        wrong = _arm_names_wrong(group)
        if wrong is not None:
            return wrong
        found += _wide_pairs(table, columns, group)
    return tuple(found)


def _by_measure(values: Sequence[Column]) -> dict[str | None, list[Column]]:
    """Arms by what they measure. In a pair, a header without a unit has the other one's."""
    groups: dict[str | None, list[Column]] = defaultdict(list)
    for column in values:
        groups[column.measure].append(column)
    if len(values) == len(groups) == 2 and None in groups and all(column.arm for column in values):
        return {next(measure for measure in groups if measure): list(values)}
    return groups


def _arm_columns(values: Sequence[Column]) -> list[Column]:
    """The columns that are arms: where some name a value of the knob, the others must too."""
    valued = [column for column in values if any(map(str.isdigit, column.arm))]
    if len(valued) < 2:
        return list(values)
    return [column for column in values if column in valued or column.is_baseline]


def _arm_names_wrong(group: Sequence[Column]) -> NotUnderstood | None:
    names = [column.arm for column in group]
    if len(group) > ARMS_MAX:
        return NotUnderstood(f"it has {len(group)} value columns; the limit is {ARMS_MAX} arms")
    if "" in names:
        nameless = next(column.header for column in group if not column.arm)
        return NotUnderstood(f"`{nameless}` holds values but names no arm")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return NotUnderstood(f"two columns name the same arm `{twice}`")
    return None


def _wide_pairs(table: Table, columns: Columns, group: Sequence[Column]) -> list[Comparison]:
    baseline = next((column for column in group if column.is_baseline), group[0])
    samples: Samples = {column.arm: _column_samples(table, columns, column) for column in group}
    metric = resolve_metric(baseline.header, _surroundings(table))
    knob = next((column.knob for column in group if column.knob), None)
    pairs = []
    for candidate in group:
        if candidate is not baseline:
            found = pair(
                samples,
                (baseline.arm, candidate.arm),
                metric=metric,
                line=table.line,
                cell_kind=columns.cell_kind,
            )
            pairs.append(replace(found, knob=knob, mapping=columns.mapping))
    return pairs


def _column_samples(table: Table, columns: Columns, column: Column) -> dict[float, list[Sample]]:
    """The values of one arm's column by cell, each with the gain stated for it."""
    gain = _gain_column(columns, column)
    samples: dict[float, list[Sample]] = defaultdict(list)
    for row in table.rows:
        cell = cell_number(row.cells[columns.cell.index], columns.mark)
        text = row.cells[column.index]
        value = parse_value(text, columns.mark)
        if not isinstance(cell, float) or not isinstance(value, Value) or value.number <= 0:
            continue
        stated = bracket_gain(text, columns.mark)
        if gain is not None:
            stated = parse_gain(row.cells[gain.index], columns.mark, header_unit=gain.unit)
        samples[cell].append(Sample(_with_columns(value, row, columns), row, stated))
    return samples


def _gain_column(columns: Columns, value: Column) -> Column | None:
    """The gain column of an arm: the next one to its right, before another arm's gain."""
    if value.is_baseline:
        return None
    for gain in columns.gains:
        between = [other for other in columns.values if value.index < other.index < gain.index]
        if gain.index > value.index and not between:
            return gain
    return None


def _with_columns(value: Value, row: Row, columns: Columns) -> Value:
    """The value with the runs and spread that columns of their own give."""
    runs, spread = columns.of_role("runs"), columns.of_role("spread")
    if runs is not None:
        count = parse_value(row.cells[runs.index], columns.mark)
        if isinstance(count, Value) and 1 <= count.number <= 10_000:
            value = replace(value, runs=int(count.number))
    if spread is not None:
        sd = parse_value(row.cells[spread.index].lstrip(" ±"), columns.mark)
        if isinstance(sd, Value):
            value = replace(value, spread=abs(sd.number))
    return value


def _from_long(
    table: Table, columns: Columns, arm_column: Column
) -> tuple[Comparison, ...] | NotUnderstood:
    names = list(dict.fromkeys(plain(cell) for cell in table.column(arm_column.index)))
    if not 2 <= len(names) <= ARMS_MAX or "" in names:
        return NotUnderstood(
            f"`{arm_column.header}` names {len(names)} arms; a comparison needs 2 to {ARMS_MAX}"
        )
    repeated = _hidden_dimension(table, columns, [arm_column])
    if repeated is not None:
        return repeated
    found: list[Comparison] = []
    for column in columns.values:
        samples: Samples = {}
        for name in names:
            rows = tuple(r for r in table.rows if plain(r.cells[arm_column.index]) == name)
            samples[name] = _column_samples(replace(table, rows=rows), columns, column)
        metric = resolve_metric(column.header, _surroundings(table))
        for name in names[1:]:
            made = pair(
                samples,
                (names[0], name),
                metric=metric,
                line=table.line,
                cell_kind=columns.cell_kind,
            )
            blocks = _blocks(table, columns)
            made = replace(made, knob=arm_column.knob, mapping=columns.mapping, blocks=blocks)
            found.append(made)
    return tuple(found)


def _blocks(table: Table, columns: Columns) -> int | None:
    """How many blocks of restarts a table records, when their order changes between blocks."""
    block, order = columns.of_role("block"), columns.of_role("order")
    arm = columns.of_role("arm-name")
    if block is None or order is None or arm is None:
        return None
    first: dict[str, set[str]] = defaultdict(set)
    for row in table.rows:
        if plain(row.cells[order.index]) == "1":
            first[row.cells[block.index]].add(row.cells[arm.index])
    leaders = {name for names in first.values() for name in names}
    return len(first) if len(leaders) > 1 and all(len(n) == 1 for n in first.values()) else None


def _hidden_dimension(
    table: Table, columns: Columns, keys: Sequence[Column]
) -> NotUnderstood | None:
    """Rows of one arm and cell that differ in another named column are not repeats."""
    known = {columns.cell.index, *(c.index for c in keys), *(c.index for c in columns.values)}
    known |= {column.index for column in (*columns.gains, *columns.structure)}
    others = [index for index in range(len(table.header)) if index not in known]
    key_indices = [columns.cell.index, *(column.index for column in keys)]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table.rows:
        groups[tuple(plain(row.cells[index]) for index in key_indices)].append(row)
    for key, rows in groups.items():
        for index in others if len(rows) > 1 else ():
            if len({row.cells[index] for row in rows}) > 1:
                return NotUnderstood(
                    f"rows repeat {columns.cell_kind} {key[0]} and differ in "
                    f"`{table.header[index]}`; give a table for each value of it"
                )
    return None


def _surroundings(table: Table) -> list[str]:
    """The texts that may name a metric or a unit: heading, then the nearest lines above."""
    above = [prose.text for prose in table.context if prose.line < table.line]
    below = [prose.text for prose in table.context if prose.line > table.line]
    return [table.heading, *reversed(above[-20:]), *below[:20]]


def _cell_row(
    cell: float,
    arms: tuple[str, str],
    baseline: Mapping[float, Sequence[Sample]],
    candidate: Mapping[float, Sequence[Sample]],
    metric: Metric,
) -> CellRow:
    sides = (baseline.get(cell, ()), candidate.get(cell, ()))
    values = {
        arm: _mean([sample.value for sample in side])
        for arm, side in zip(arms, sides, strict=True)
        if side
    }
    lines = [sample.row.line for side in sides for sample in side]
    stated = next((sample.stated for sample in sides[1] if sample.stated), None)
    gain = None
    if len(values) == 2:
        gain = values[arms[1]].number / values[arms[0]].number - 1
    agrees = None
    if gain is not None and stated is not None:
        stated = _read_bare(stated, values[arms[0]], values[arms[1]], metric)
        agrees = _agrees(stated, values[arms[0]], values[arms[1]], metric)
    return CellRow(cell, min(lines), values, stated, gain, agrees)


def _mean(values: Sequence[Value]) -> Value:
    """Repeats of one cell as one value: mean, sample SD and their number."""
    if len(values) == 1:
        return values[0]
    numbers = [value.number for value in values]
    return Value(
        number=statistics.fmean(numbers),
        half_step=max(value.half_step for value in values),
        spread=statistics.stdev(numbers),
        runs=len(values) * min(value.runs or 1 for value in values),
    )


def _read_bare(stated: Stated, baseline: Value, candidate: Value, metric: Metric) -> Stated:
    """A gain without a mark as difference, ratio or percent: the one that its row bears out.

    Where the row bears out none of them it stays a difference, which does not agree.
    """
    if not stated.absolute or stated.gain is None:
        return stated
    ratio = replace(stated, gain=stated.gain - 1, absolute=False)
    percent = replace(
        stated, gain=stated.gain / 100, half_step=stated.half_step / 100, absolute=False
    )
    borne_out = (
        reading
        for reading in (stated, ratio, percent)
        if _agrees(reading, baseline, candidate, metric)
    )
    return next(borne_out, stated)


def _agrees(stated: Stated, baseline: Value, candidate: Value, metric: Metric) -> bool | None:
    """Whether the stated gain is the recomputed one, within what both were rounded to."""
    if stated.gain is None:
        return None
    if stated.absolute:
        computed = candidate.number - baseline.number
        slack = baseline.half_step + candidate.half_step
    else:
        computed = candidate.number / baseline.number - 1
        ratio = candidate.number / baseline.number
        slack = (candidate.half_step + ratio * baseline.half_step) / baseline.number
    tolerance = (stated.half_step + slack) * (1 + 1e-9) + 1e-12
    if abs(computed - stated.gain) <= tolerance:
        return True
    # A gain of a latency is often stated as an improvement: less time, positive gain.
    return metric.lower_is_better and abs(-computed - stated.gain) <= tolerance
