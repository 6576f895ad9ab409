"""Runs of the lab as a table: what was expected, what was said, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from statistics import median

from rich.table import Table
from rich.text import Text

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.stats.shares import share_interval
from exonerate.report.terminal import as_text

CONFIDENCE_BANDS = (0.0, 0.9, 0.95, 0.98, 0.99, 1.01)
"""Edges of the bands; a conviction needs 0.95, so that most lie above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """One scenario with one seed, played and scored. `timers_s` are the scenario's own waits.

    `code` and `file` are digests of the deciding code and of the scenario's file: a row whose
    digests are not today's is stale. `wall_s` includes putting the scenario up. `beyond_victim`:
    how many more requests of ours than the victim has were under way at an address, at the most.
    """

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
    commit: str = ""
    code: str = ""
    file: str = ""
    wall_s: float = 0.0
    confidence: float | None = None
    beyond_victim: int | None = None
    details_off: list[str] = field(default_factory=list)
    paragraph: str = ""

    @property
    def wanted(self) -> str:
        """The class or explanation that was to be found."""
        return self.explanation or self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """A scenario that was not played, or broke, and what can be done about it."""

    scenario: str
    seed: int | None
    why: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabReport:
    """Everything that is reported; `stale` names the runs of other code or another file."""

    runs: Sequence[LabRun]
    not_run: Sequence[NotRun] = ()
    stale: frozenset[tuple[str, int]] = frozenset()


def lab_json(report: LabReport) -> JsonObject:
    """`exonerate.lab/1`: the runs, the confusion counts, the score, and what was not run."""
    runs: list[Json] = [
        {**asdict(run), "stale": (run.scenario, run.seed) in report.stale} for run in report.runs
    ]
    return {
        "schema": "exonerate.lab/1",
        "summary": summary(report.runs),
        "calibration": [_band_json(band) for band in calibration(report.runs)],
        "confusion": {wanted: dict(row) for wanted, row in confusion(report.runs).items()},
        "runs": runs,
        "not_run": [asdict(item) for item in report.not_run],
    }


def lab_text(report: LabReport, *, width: int = 100, colour: bool = False) -> str:
    """One line a scenario, and the summary below."""
    table = Table("scenario", "expected", "said (runs)", "points", "median s")
    for scenario in dict.fromkeys(run.scenario for run in report.runs):
        own = [run for run in report.runs if run.scenario == scenario]
        style = "bad" if any(run.false_accusation for run in own) else ""
        table.add_row(
            scenario,
            own[0].wanted,
            Text(said(own), style),
            f"{sum(run.points for run in own):g} of {len(own)}",
            f"{median(run.elapsed_s for run in own):.0f}",
        )
    parts: list[Table | str] = [table] if report.runs else []
    parts.append(summary_text(report.runs))
    if report.stale:
        parts.append(f"{len(report.stale)} of the runs are of other code or scenario files")
    parts += [not_run_line(item) for item in report.not_run]
    return as_text(*parts, width=width, colour=colour)


def said(runs: Sequence[LabRun]) -> str:
    """What was said about a scenario, with counts where there were several answers."""
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.got] = counts.get(run.got, 0) + 1
    return ", ".join(f"{what} ({count})" for what, count in counts.items())


def not_run_line(item: NotRun) -> str:
    """One line about a scenario that was not played."""
    seed = "" if item.seed is None else f" seed {item.seed}"
    return f"not run: {item.scenario}{seed}: {item.why}; {item.hint}"


def summary(runs: Sequence[LabRun]) -> JsonObject:
    """The figures of all runs together; shares are fractions, `none` where there is nothing."""
    solvable = [run for run in runs if run.expected not in ("no_fault", "insufficient_evidence")]
    innocent = [run for run in runs if run.expected == "no_fault"]
    return {
        "runs": len(runs),
        "points": sum(run.points for run in runs),
        "score": round(sum(run.points for run in runs) / len(runs), 3) if runs else None,
        "false_accusations": sum(run.false_accusation for run in runs),
        "right_layer": _share([run.right_layer for run in solvable]),
        "right_class": _share([run.right_class for run in solvable]),
        "no_fault_answered_so": _share([run.right_layer for run in innocent]),
        "median_s": round(median(run.elapsed_s for run in runs), 1) if runs else None,
        "median_less_timers_s": (
            round(median(run.elapsed_s - run.timers_s for run in runs), 1) if runs else None
        ),
        "beyond_victim": max(
            (run.beyond_victim for run in runs if run.beyond_victim is not None), default=None
        ),
    }


def summary_text(runs: Sequence[LabRun]) -> str:
    """The figures in one line."""
    figures = summary(runs)
    if not runs:
        return "no runs"
    words = [
        f"{len(runs)} runs: {figures['points']:g} points of {len(runs)}",
        f"false accusations {figures['false_accusations']}",
    ]
    for name, text in (
        ("right_layer", "right layer"),
        ("right_class", "right class"),
        ("no_fault_answered_so", "nobody rightly accused"),
    ):
        share = figures[name]
        words += [f"{text} {share:.0%}"] if isinstance(share, float) else []
    less = f"{figures['median_less_timers_s']} s less the scenarios' own timers"
    words.append(f"median {figures['median_s']} s ({less})")
    if figures["beyond_victim"] is not None:
        words.append(f"at an address at most {figures['beyond_victim']} more than the victim's own")
    return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Band:
    """Accusations whose confidence lay from `low` up to (not including) `high`."""

    low: float
    high: float
    accusations: int
    right_class: int
    stated: float = 0.0
    """What they said on average."""

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share of right ones lies, at 95 %."""
        return share_interval(self.right_class, self.accusations)

    @property
    def overstated(self) -> bool:
        """Whether they said more than what was right allows."""
        return self.stated > self.interval[1]


def calibration(runs: Sequence[LabRun]) -> list[Band]:
    """How often accusations of about the same confidence were right; empty bands are left out."""
    accused = [run for run in runs if run.confidence is not None]
    bands = []
    for low, high in pairwise(CONFIDENCE_BANDS):
        own = [
            run for run in accused if run.confidence is not None and low <= run.confidence < high
        ]
        if own:
            said = [run.confidence for run in own if run.confidence is not None]
            right = sum(run.right_class for run in own)
            bands.append(Band(low, high, len(own), right, sum(said) / len(said)))
    return bands


def calibration_text(runs: Sequence[LabRun]) -> str:
    """The bands in a sentence; nothing where nobody was accused."""
    bands = [_band_text(band) for band in calibration(runs)]
    return f"Of the right class, by stated confidence: {', '.join(bands)}." if bands else ""


def _band_json(band: Band) -> JsonObject:
    return {
        **asdict(band),
        "right_class_interval": list(band.interval),
        "overstated": band.overstated,
    }


def _band_text(band: Band) -> str:
    low, high = band.interval
    text = (
        f"{band.right_class} of {band.accusations} at {band.low:.2f} to {min(band.high, 1.0):.2f}"
        f" (said {band.stated:.2f} on average, right in {low:.2f} to {high:.2f} at 95 %"
    )
    return f"{text}: too sure)" if band.overstated else f"{text})"


def confusion(runs: Sequence[LabRun]) -> dict[str, dict[str, int]]:
    """How often each expected class or explanation was answered by what."""
    counts: dict[str, dict[str, int]] = {}
    for run in runs:
        row = counts.setdefault(run.wanted, {})
        row[run.got] = row.get(run.got, 0) + 1
    return counts


def _share(flags: Sequence[bool]) -> float | None:
    return round(sum(flags) / len(flags), 3) if flags else None
