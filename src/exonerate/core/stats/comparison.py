"""Two arms compared: an estimate and a verdict for each cell, the primary band, and the guards.

The values are geometric means over the blocks that have both arms, so that
effect = candidate / baseline - 1 holds to the last digit. The primary endpoint is the mean of the
band's differences in each block, one test without correction; cells share the error (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from exonerate.core.stats.anomalies import SCALING_MARGIN, Anomaly, find_anomalies
from exonerate.core.stats.intervals import SD_IDENTICAL, FloatArray, sign_flip_p, t_quantile
from exonerate.core.stats.power import blocks_to_settle
from exonerate.core.stats.stopping import ALPHA, FIXED, Plan
from exonerate.core.stats.trials import Cell, TrialTable
from exonerate.core.stats.verdicts import BLOCKS_MIN, NAMES, Judgement, VerdictName, judge
from exonerate.core.stats.wording import why_invalid, why_of

MARGIN_DEFAULT = 0.02
LEVEL = 1 - ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the trials, fixed before they are looked at.

    `primary` names the band of cells (all when None); `guards` the cells that must not lose more
    than `guard_margin`. All margins are ratios.
    """

    margin: float = MARGIN_DEFAULT
    primary: tuple[Cell, ...] | None = None
    lower_is_better: bool = False
    plan: Plan = FIXED
    guards: tuple[Cell, ...] = ()
    guard_margin: float = MARGIN_DEFAULT
    scaling_margin: float = SCALING_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One endpoint: geometric means, effect, intervals (ratios) and verdict with its reason.

    `ci` holds at the family's level; `flat_ci` is the interval of the equivalence test. Both are
    None when nothing can be said, and everything but `n` is when the endpoint is invalid.
    """

    n: int
    baseline: float | None
    candidate: float | None
    effect: float | None
    ci: tuple[float, float] | None
    flat_ci: tuple[float, float] | None
    verdict: VerdictName
    why: str
    blocks_needed: int | None = None
    sign_flip_p: float | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """Non-inferiority of one guarded cell: the one-sided 95 % bound of its loss (a ratio)."""

    cell: Cell
    bound: float | None
    margin: float
    verdict: Literal["no regression shown", "regression not excluded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that the trials answer."""

    arms: tuple[str, str]
    blocks: int
    cells: Mapping[Cell, Estimate]
    primary_cells: tuple[Cell, ...]
    primary: Estimate
    anomalies: tuple[Anomaly, ...]
    guards: tuple[Guard, ...]
    nominal_level: float
    invalid: Mapping[Cell, str] = field(default_factory=dict)


def compare(
    table: TrialTable, question: Question, *, invalid: Mapping[Cell, str] | None = None
) -> Comparison:
    """Judge every cell and the primary band; `invalid` maps cells to the gate they broke."""
    broken = dict(invalid or {})
    family = len(table.cells)
    cells = {
        cell: invalid_estimate(table.differences[:, at], broken[cell])
        if cell in broken
        else estimate(table.log_values[:, :, at], question, family=family)
        for at, cell in enumerate(table.cells)
    }
    primary_cells = table.cells if question.primary is None else question.primary
    return Comparison(
        arms=table.arms,
        blocks=int((~np.isnan(table.differences)).any(axis=1).sum()),
        cells=cells,
        primary_cells=primary_cells,
        primary=_primary(table, question, primary_cells, broken),
        anomalies=_anomalies(table, question, broken),
        guards=tuple(_guard(table, question, cell, cell in broken) for cell in question.guards),
        nominal_level=1 - question.plan.two_sided_p / max(1, family),
        invalid=broken,
    )


def estimate(log_values: FloatArray, question: Question, *, family: int) -> Estimate:
    """Estimate and verdict of one endpoint from logarithms of shape (2 arms, blocks)."""
    paired = log_values[:, ~np.isnan(log_values).any(axis=0)]  # (2, n)
    n = paired.shape[1]
    if n == 0:
        why = "no block has both arms here"
        return Estimate(
            n=0,
            baseline=None,
            candidate=None,
            effect=None,
            ci=None,
            flat_ci=None,
            verdict="undecided",
            why=why,
        )
    differences = paired[1] - paired[0]
    found = judge(
        differences[:, None],
        margin=question.margin,
        plan=question.plan,
        family=family,
        higher_is_better=not question.lower_is_better,
    )
    verdict = NAMES[int(found.verdict[0])]
    needed = _blocks_needed(found, question, family) if verdict == "undecided" else None
    baseline, candidate = np.exp(paired.mean(axis=1))
    return Estimate(
        n=n,
        baseline=float(baseline),
        candidate=float(candidate),
        effect=float(np.expm1(found.mean[0])),
        ci=_bounds(found.lo, found.hi),
        flat_ci=_bounds(found.flat_lo, found.flat_hi),
        verdict=verdict,
        why=why_of(found, verdict, margin=question.margin, plan=question.plan, needed=needed),
        blocks_needed=needed,
        sign_flip_p=sign_flip_p(differences),
    )


def invalid_estimate(differences: FloatArray, why: str) -> Estimate:
    """An endpoint whose gate is broken: no number is compared."""
    return Estimate(
        n=int((~np.isnan(differences)).sum()),
        baseline=None,
        candidate=None,
        effect=None,
        ci=None,
        flat_ci=None,
        verdict="invalid",
        why=why_invalid(why),
    )


def _primary(
    table: TrialTable, question: Question, cells: tuple[Cell, ...], broken: Mapping[Cell, str]
) -> Estimate:
    band = [table.cells.index(cell) for cell in cells]
    # A block counts only with the whole band: otherwise its mean would be of other cells.
    log_values = table.log_values[:, :, band].mean(axis=2)  # (2, blocks)
    reasons = [f"C{cell}: {broken[cell]}" for cell in cells if cell in broken]
    if reasons:
        return invalid_estimate(log_values[1] - log_values[0], "; ".join(reasons))
    return estimate(log_values, question, family=1)


def _anomalies(
    table: TrialTable, question: Question, broken: Mapping[Cell, str]
) -> tuple[Anomaly, ...]:
    if question.lower_is_better:
        # A latency is expected to rise with concurrency; only throughput has such anomalies.
        return ()
    sound = [at for at, cell in enumerate(table.cells) if cell not in broken]
    return find_anomalies(
        table.log_values[:, :, sound],
        arms=table.arms,
        cells=[table.cells[at] for at in sound],
        margin=question.scaling_margin,
    )


def _guard(table: TrialTable, question: Question, cell: Cell, broken: bool) -> Guard:
    """Fails closed: without enough blocks, or with a broken gate, nothing is excluded."""
    d = table.differences[:, table.cells.index(cell)]
    gain = -d if question.lower_is_better else d
    gain = gain[~np.isnan(gain)]
    sd = float(gain.std(ddof=1)) if gain.size >= BLOCKS_MIN else 0.0
    if broken or sd <= SD_IDENTICAL:
        return Guard(cell, None, question.guard_margin, "regression not excluded")
    reach = float(t_quantile(1 - question.plan.flat_one_sided_p, gain.size - 1))
    bound = float(gain.mean()) - reach * sd / float(np.sqrt(gain.size))
    shown = bound > -np.log1p(question.guard_margin)
    return Guard(
        cell,
        float(np.expm1(bound)),
        question.guard_margin,
        "no regression shown" if shown else "regression not excluded",
    )


def _blocks_needed(found: Judgement, question: Question, family: int) -> int | None:
    sd, n = float(found.sd[0]), int(found.n[0])
    if n < 2 or sd <= SD_IDENTICAL:
        return None
    return blocks_to_settle(
        float(found.mean[0]),
        noise=sd / float(np.sqrt(2)),
        margin=question.margin,
        family=family,
        plan=question.plan,
        more_than=n,
    )


def _bounds(low: FloatArray, high: FloatArray) -> tuple[float, float] | None:
    if np.isnan(low[0]) or not np.isfinite(high[0]):
        return None
    return float(np.expm1(low[0])), float(np.expm1(high[0]))
