"""The job `bench compare`: two results side by side, or why they must not be."""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.json_types import Json
from exonerate.core.workload.bench_spec import incomparable
from exonerate.errors import ExonerateError
from exonerate.jobs.bench_result import BenchResult, CellResult

SCHEMA = "exonerate.bench-comparison/1"


def compare_results(before: BenchResult, after: BenchResult) -> dict[str, Json]:
    """The loads that both have, metric by metric; raises ExonerateError for unlike runs."""
    reasons = incomparable(before.header, after.header)
    reasons.extend(
        f"the {name} result is invalid: client-bound"
        for name, result in (("first", before), ("second", after))
        if result.client_bound
    )
    ours = {cell.summary.load: cell for cell in before.cells}
    theirs = {cell.summary.load: cell for cell in after.cells}
    shared = [name for name in ours if name in theirs]
    if not shared:
        reasons.append("no load is in both")
    if reasons:
        raise ExonerateError(
            "the two results cannot be compared: " + "; ".join(reasons),
            "run both with the same request, loads and limits",
        )
    return {
        "schema": SCHEMA,
        "cells": [{"load": name, "metrics": _metrics(ours[name], theirs[name])} for name in shared],
        "notes": [
            "one run each: no interval and no verdict can be given; "
            "`exonerate ab` restarts the service in blocks and gives both",
            *[f"only in one of them: {name}" for name in sorted(set(ours) ^ set(theirs))],
        ],
    }


def _metrics(before: CellResult, after: CellResult) -> list[Json]:
    first, second = _values(before), _values(after)
    return [
        {
            "name": name,
            "before": first[name],
            "after": second[name],
            "change": _change(first[name], second[name]),
            "ci": None,
        }
        for name in first
    ]


def _values(cell: CellResult) -> Mapping[str, float | None]:
    summary = cell.summary
    medians = {f"{name} p50": found[0].value for name, found in summary.latencies.items()}
    return {
        "output_tokens_per_s": summary.output_tokens_per_s,
        "requests_per_s": summary.requests_per_s,
        **medians,
        "complete_share": summary.complete / summary.requests if summary.requests else None,
    }


def _change(before: float | None, after: float | None) -> float | None:
    return after / before - 1 if before and after is not None else None
