"""A reading as the JSON of `read --json` (schema `exonerate.reading/1`)."""

from __future__ import annotations

from exonerate.core.documents.compare import coin_toss_sd
from exonerate.core.documents.grade import runs_per_cell
from exonerate.core.documents.model import (
    CellRow,
    Comparison,
    Dip,
    Fact,
    Reading,
    Run,
    Source,
)
from exonerate.core.json_types import Json

SCHEMA = "exonerate.reading/1"
DIGITS = 6


def reading_json(reading: Reading) -> dict[str, Json]:
    """The answer that `read --json` prints and that a case records."""
    return {"schema": SCHEMA, "sources": [source_json(source) for source in reading.sources]}


def source_json(source: Source) -> dict[str, Json]:
    """One file with everything found in it."""
    answer: dict[str, Json] = {
        "path": source.path,
        "sha256": source.sha256,
        "format": source.format,
        "comparisons": [_comparison(comparison) for comparison in source.comparisons],
        "runs": [_run(run) for run in source.runs],
        "claims": [
            {
                "text": claim.text,
                "line": claim.line,
                "status": "claimed",
                "defined": claim.defined,
            }
            for claim in source.claims
        ],
        "facts": [_fact(fact) for fact in source.facts],
        "warnings": list(source.warnings),
    }
    if source.parts:
        answer["parts"] = list(source.parts)
    return answer


def _comparison(comparison: Comparison) -> dict[str, Json]:
    runs, restarts = runs_per_cell(comparison)
    return {
        "line": comparison.line,
        "metric": comparison.metric,
        "unit": comparison.unit,
        "arms": list(comparison.arms),
        "baseline": comparison.arms[0],
        "knob": comparison.knob,
        "cell_kind": comparison.cell_kind,
        "cells": [_cell(row, comparison.arms) for row in comparison.cells],
        "anomalies": [_anomaly(dip) for dip in comparison.dips],
        "runs_per_cell": runs,
        "runs_are_restarts": restarts,
        "grade": comparison.grade,
        "why": list(comparison.why),
        "group": comparison.group,
        "copy_of": comparison.copy_of,
        "mapping": list(comparison.mapping),
        "facts": [_fact(fact) for fact in comparison.facts],
    }


def _cell(row: CellRow, arms: tuple[str, str]) -> dict[str, Json]:
    stated = row.stated
    gain = stated.gain if stated is not None and not stated.absolute else None
    sd = None
    if row.computed_gain is not None:
        sd = _rounded(coin_toss_sd(row.values[arms[0]].number, row.values[arms[1]].number))
    return {
        "cell": _plain(row.cell),
        "line": row.line,
        "values": {arm: _plain(value.number) for arm, value in row.values.items()},
        "spread": {arm: value.spread for arm, value in row.values.items()},
        "runs": {arm: value.runs for arm, value in row.values.items()},
        "stated": stated.text if stated is not None else None,
        "stated_gain": _rounded(gain),
        "stated_difference": stated.gain if stated is not None and stated.absolute else None,
        "computed_gain": _rounded(row.computed_gain),
        "agrees": row.agrees,
        "coin_toss_sd": sd,
    }


def _anomaly(dip: Dip) -> dict[str, Json]:
    return {
        "arm": dip.arm,
        "cells": [_plain(cell) for cell in dip.cells],
        "drop": _rounded(dip.drop),
        "verdict": "suspected",
        "removed_by": dip.removed_by,
        "coin_toss_sd": _rounded(dip.coin_toss_sd),
    }


def _run(run: Run) -> dict[str, Json]:
    return {
        "line": run.line,
        "tool": run.tool,
        "cell": None if run.cell is None else _plain(run.cell),
        "cell_kind": run.cell_kind,
        "metrics": dict(run.metrics),
        "completed": run.completed,
        "failed": run.failed,
        "complete": run.complete,
        "workload": dict(run.workload),
        "facts": [_fact(fact) for fact in run.facts],
    }


def _fact(fact: Fact) -> dict[str, Json]:
    return {"kind": fact.kind, "value": fact.value, "line": fact.line}


def _plain(number: float) -> int | float:
    """Whole numbers as integers: concurrency 64, not 64.0."""
    return int(number) if number == int(number) else number


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS)
