"""Runs the sweep against one target and folds what was seen into a proof."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from exonerate.core.exactness import (
    PROMISED_BY_DEFAULT,
    ErrorPoint,
    Finding,
    Proof,
    Property,
)
from exonerate.errors import ExonerateError
from exonerate.kernels.prover import catalogue, options_catalogue, saved
from exonerate.kernels.prover.judge import Judge
from exonerate.kernels.prover.runner import Capabilities, Runner
from exonerate.kernels.prover.shrink import shrink
from exonerate.kernels.prover.trial import Judgement, Measurement, Trial, Violation

assert options_catalogue, "its conditions enter the catalogue when it is imported"

Progress: TypeAlias = Callable[[str, float | None], None]

HANGS_MAX = 3
DEATHS_MAX = 12
"""After so many the rest of the sweep is left out: each costs a time limit or a new process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What to ask and what is promised.

    Args:
        dtypes: number formats to try; all that the target has when empty
        ulp_allowed: how far split counts may differ where split invariance is promised
        save_in: folder for failing inputs; None saves nothing
        stop_at_first: end at the first broken promise
        conditions: names of conditions to try; all of the level when empty
        budget_s: after so long the rest is left out; None has all the time
    """

    target: str
    level: str = "default"
    seed: int = 0
    dtypes: Sequence[str] = ()
    promised: Sequence[Property] = PROMISED_BY_DEFAULT
    partial_dtype: str = "fp32"
    ulp_allowed: float = 0.0
    save_in: Path | None = None
    stop_at_first: bool = False
    conditions: Sequence[str] = ()
    budget_s: float | None = None


@dataclass(slots=True)
class _Seen:
    """What the sweep has shown so far."""

    trials: Counter[Property] = field(default_factory=Counter)
    violated: Counter[Property] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    known: set[tuple[Property, str]] = field(default_factory=set)
    measurements: list[Measurement] = field(default_factory=list)
    conventions: dict[str, set[str]] = field(default_factory=dict)
    not_examined: dict[str, None] = field(default_factory=dict)
    answered: list[str] = field(default_factory=list)
    refusals: list[tuple[Trial, Judgement]] = field(default_factory=list)
    calls: int = 0
    hangs: int = 0
    deaths: int = 0

    def add(self, found: Judgement) -> None:
        """Take in what a trial showed, its violations apart."""
        self.calls += found.calls
        self.hangs += found.hangs
        self.deaths += found.deaths
        self.measurements += found.measurements
        for name, values in found.conventions.items():
            self.conventions.setdefault(name, set()).update(values)

    @property
    def given_up(self) -> str:
        """Why the sweep goes no further; empty while it does."""
        if self.hangs >= HANGS_MAX:
            return f"it did not answer {self.hangs} times"
        return f"it died {self.deaths} times" if self.deaths >= DEATHS_MAX else ""


def prove(runner: Runner, sweep: Sweep, progress: Progress) -> Proof:
    """Every trial of the sweep, judged; the target's failures are findings, not exceptions."""
    began = time.monotonic()
    judge = Judge(runner, partial_dtype=sweep.partial_dtype, ulp_allowed=sweep.ulp_allowed)
    seen = _Seen()
    formats = _formats(sweep, runner.capabilities, seen)
    _check_conditions(sweep)
    without: set[str] = set()
    for fraction, trial in _planned(sweep, formats):
        dtype = trial.given.dtype
        progress(f"{dtype} {trial.condition}", fraction)
        why = seen.given_up or _out_of_time(sweep, time.monotonic() - began)
        if why:
            seen.not_examined[f"{dtype} {trial.condition}: left out, {why}"] = None
        elif dtype not in without and not _judge_one(judge, sweep, trial, seen):
            without.add(dtype)
        if sweep.stop_at_first and any(finding.broken for finding in seen.findings):
            break
    if not seen.answered:  # who takes no format at all has answered nothing
        for trial, found in seen.refusals:
            _take_violations(judge, sweep, trial, found, seen)
    progress("done", 1.0)
    return _proof(runner, sweep, seen, time.monotonic() - began)


def _out_of_time(sweep: Sweep, spent_s: float) -> str:
    over = sweep.budget_s is not None and spent_s > sweep.budget_s
    return f"the sweep had {sweep.budget_s:g} s" if over else ""


def replay(runner: Runner, sweep: Sweep, file: Path) -> Proof:
    """One saved trial judged again; nothing is saved."""
    began = time.monotonic()
    judge = Judge(runner, partial_dtype=sweep.partial_dtype, ulp_allowed=sweep.ulp_allowed)
    trial = saved.load(file)
    # What was saved as broken is asked for, whatever is promised now.
    promised = tuple(dict.fromkeys((*sweep.promised, *trial.checks)))
    sweep = replace(sweep, save_in=None, level="replay", promised=promised)
    seen = _Seen()
    _judge_one(judge, sweep, trial, seen)
    for refused, found in seen.refusals:
        _take_violations(judge, sweep, refused, found, seen)
    return _proof(runner, sweep, seen, time.monotonic() - began)


def _formats(sweep: Sweep, capabilities: Capabilities, seen: _Seen) -> list[str]:
    """The formats to try; one that the target's arrays cannot have is not examined."""
    possible = (*capabilities.dtypes, *capabilities.dtypes_asked)
    for dtype in sweep.dtypes:
        if dtype not in possible:
            seen.not_examined[f"{dtype}: {capabilities.arrays} arrays have no such format"] = None
    formats = [dtype for dtype in sweep.dtypes or capabilities.dtypes if dtype in possible]
    if not formats:
        raise ExonerateError(
            f"`{sweep.target}` takes none of {', '.join(sweep.dtypes)}",
            f"its arrays can be {', '.join(possible)}; NumPy has no bf16, torch has",
        )
    return formats


def _check_conditions(sweep: Sweep) -> None:
    known = {entry.name for entry in catalogue.CONDITIONS}
    for name in sweep.conditions:
        if name not in known:
            raise ExonerateError(
                f"`{name}` is no condition of the sweep", f"choose from {', '.join(sorted(known))}"
            )


def _planned(sweep: Sweep, formats: Sequence[str]) -> Iterator[tuple[float, Trial]]:
    """Every trial, made when its turn comes, and the share of the conditions before it."""
    entries = catalogue.entries(sweep.level, sweep.conditions)
    done = 0
    for dtype in formats:
        for entry in entries:
            for trial in catalogue.trials_of(entry, dtype, seed=sweep.seed):
                yield done / (len(formats) * len(entries)), trial
            done += 1


def _judge_one(judge: Judge, sweep: Sweep, trial: Trial, seen: _Seen) -> bool:
    """Judge a trial and take in what it showed; False when the target does not take the format."""
    dtype = trial.given.dtype
    found = judge.judge(trial)
    seen.add(found)
    if dtype not in seen.answered:
        refusal = _refusal(trial, found)
        if refusal:
            seen.not_examined[f"{dtype}: {refusal}"] = None
            seen.refusals.append((trial, found))
            return False
        seen.answered.append(dtype)
    if found.refused and trial.noted_only:
        seen.conventions.setdefault("refuses", set()).add(trial.condition)
    elif found.refused:
        seen.not_examined[f"{trial.condition}: {found.refused}"] = None
    _take_violations(judge, sweep, trial, found, seen)
    return True


def _refusal(trial: Trial, found: Judgement) -> str:
    """What the target said when it raised at every number of splits of its first trial."""
    if found.raised < len(trial.splits):
        return found.refused
    return found.violations[0].what if found.violations else found.refused


def _take_violations(
    judge: Judge, sweep: Sweep, trial: Trial, found: Judgement, seen: _Seen
) -> None:
    """Count what was judged; shrink and save the first violation of each property and condition."""
    for check in found.examined if not trial.noted_only else ():
        seen.trials[check] += 1
        seen.violated[check] += any(v.property is check for v in found.violations)
    for violation in found.violations:
        key = (violation.property, trial.condition)
        unpromised = violation.property not in sweep.promised
        if unpromised:  # one example is enough of what nobody promised
            key = (violation.property, "")
        if key in seen.known:
            continue
        seen.known.add(key)
        broken = not unpromised and not trial.noted_only
        seen.findings.append(_finding(judge, sweep, trial, violation, broken=broken))


def _finding(
    judge: Judge, sweep: Sweep, trial: Trial, violation: Violation, *, broken: bool
) -> Finding:
    small = trial.narrowed(violation.property, violation.splits)
    hung = violation.what.startswith("did not answer")
    if broken and not hung and sweep.save_in is not None:
        small, violation = shrink(judge, trial, violation)
    path = ""
    if sweep.save_in is not None and (broken or trial.noted_only):
        file = sweep.save_in / _file_name(sweep.target, small, violation)
        saved.save(file, small, what=violation.what)
        path = str(file)
    return Finding(
        property=violation.property,
        condition=trial.condition,
        broken=broken,
        dtype=small.given.dtype,
        splits=violation.splits,
        what=violation.what,
        shape=dict(small.given.shape()),
        why=catalogue.why(trial.condition),
        saved=path,
    )


def _file_name(target: str, trial: Trial, violation: Violation) -> str:
    slug = re.sub(r"[^A-Za-z0-9]+", "-", target).strip("-")[-40:].lower()
    return f"{slug}-{violation.property}-{trial.condition}-{trial.given.dtype}.npz"


def _proof(runner: Runner, sweep: Sweep, seen: _Seen, elapsed_s: float) -> Proof:
    for name, needs in (
        ("write guards around `out`", "out" not in runner.capabilities.keywords),
        ("memory layouts", not runner.capabilities.layouts),
    ):
        if needs:
            seen.not_examined[f"{name}: the target does not take them"] = None
    return Proof(
        target=sweep.target,
        level=sweep.level,
        seed=sweep.seed,
        promised=tuple(sweep.promised),
        trials=dict(seen.trials),
        violated=dict(seen.violated),
        findings=tuple(seen.findings),
        error_by_splits=_error_points(seen.measurements),
        conventions={name: sorted(values) for name, values in seen.conventions.items()},
        not_examined=tuple(seen.not_examined),
        dtypes=tuple(seen.answered),
        partial_dtype=sweep.partial_dtype,
        calls=seen.calls,
        elapsed_s=elapsed_s,
        versions=dict(runner.capabilities.versions),
        ulp_allowed=sweep.ulp_allowed or None,
    )


def _error_points(measurements: Sequence[Measurement]) -> tuple[ErrorPoint, ...]:
    """The measurements of the condition with the most split counts: the same input at each."""
    points: list[ErrorPoint] = []
    for dtype in dict.fromkeys(m.dtype for m in measurements):
        by_condition: dict[str, dict[int, list[Measurement]]] = {}
        for m in measurements:
            if m.dtype == dtype:
                by_condition.setdefault(m.condition, {}).setdefault(m.splits, []).append(m)
        points += map(_error_point, max(by_condition.values(), key=len).values())
    return tuple(sorted(points, key=lambda point: (point.dtype, point.splits)))


def _error_point(group: Sequence[Measurement]) -> ErrorPoint:
    elements = sum(m.elements for m in group)
    return ErrorPoint(
        dtype=group[0].dtype,
        splits=group[0].splits,
        error_max=max(m.error_max for m in group),
        error_rms=math.sqrt(sum(m.error_squares for m in group) / elements),
        of_bound=max(m.of_bound for m in group),
        changed_share=sum(m.changed for m in group) / elements,
        ulp_max=max(m.ulp_max for m in group),
    )
