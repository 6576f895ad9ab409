"""Runs of the lab as a table: what was expected, what was said, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.table import Table
from rich.text import Text

from exonerate.core.json_types import JsonObject
from exonerate.report.terminal import as_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """One scenario with one seed, played and scored. `timers_s` are the scenario's own waits."""

    scenario: str
    seed: int
    version: str
    expected: str
    explanation: str | None
    got: str
    points: float
    false_accusation: bool
    right_layer: bool
    right_class: bool
    why: str
    elapsed_s: float
    timers_s: float
    paragraph: str = ""


def lab_json(runs: Sequence[LabRun]) -> JsonObject:
    """`exonerate.lab/1`: the runs, the confusion counts and the summary."""
    return {
        "schema": "exonerate.lab/1",
        "summary": _summary(runs),
        "confusion": _confusion(runs),
        "runs": [asdict(run) for run in runs],
    }


def lab_text(runs: Sequence[LabRun], *, width: int = 100, colour: bool = False) -> str:
    """One line a scenario, and the summary below."""
    table = Table("scenario", "expected", "said (runs)", "points", "median s")
    for scenario in dict.fromkeys(run.scenario for run in runs):
        own = [run for run in runs if run.scenario == scenario]
        said: dict[str, int] = {}
        for run in own:
            said[run.got] = said.get(run.got, 0) + 1
        style = "bad" if any(run.false_accusation for run in own) else ""
        table.add_row(
            scenario,
            own[0].explanation or own[0].expected,
            Text(", ".join(f"{what} ({count})" for what, count in said.items()), style),
            f"{sum(run.points for run in own):g} of {len(own)}",
            f"{median(run.elapsed_s for run in own):.0f}",
        )
    summary = _summary(runs)
    text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in summary.items())
    return as_text(table, text, width=width, colour=colour)


def _summary(runs: Sequence[LabRun]) -> JsonObject:
    solvable = [run for run in runs if run.expected not in ("no_fault", "insufficient_evidence")]
    innocent = [run for run in runs if run.expected == "no_fault"]
    return {
        "runs": len(runs),
        "points": sum(run.points for run in runs),
        "false_accusations": sum(run.false_accusation for run in runs),
        "right_layer": _share([run.right_layer for run in solvable]),
        "right_class": _share([run.right_class for run in solvable]),
        "no_fault_answered_so": _share([run.right_layer for run in innocent]),
        "median_s": round(median(run.elapsed_s for run in runs), 1) if runs else None,
    }


def _confusion(runs: Sequence[LabRun]) -> JsonObject:
    counts: dict[str, dict[str, int]] = {}
    for run in runs:
        row = counts.setdefault(run.explanation or run.expected, {})
        row[run.got] = row.get(run.got, 0) + 1
    return counts


def _share(flags: Sequence[bool]) -> float | None:
    return round(sum(flags) / len(flags), 3) if flags else None
