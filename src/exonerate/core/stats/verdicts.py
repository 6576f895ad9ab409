"""The verdict rule: better, worse, flat or undecided, from block differences alone.

Theory of operation
-------------------
With m the mean of d over blocks, [lo, hi] the interval at the family's level and [l, h] the
interval of the two one-sided tests (90 % for one look), and the margin delta fixed beforehand:

1. below 3 blocks, or with differences that repeat exactly: **undecided**;
2. l > -delta and h < delta: **flat** (equivalence by TOST; Schuirmann 1987);
3. lo > 0 and m >= delta: **better**; hi < 0 and m <= -delta: **worse**;
4. else: **undecided**. "Not significant" is never printed as "the same".

Validity gates come before all of this and make a cell **invalid** (`core.experiment.gates`).
Everything is an array operation over leading axes, so the simulated proofs in the tests run this
very code thousands of times. The margin is a ratio (.02): in logarithms it is ln 1.02 on both
sides, so that exchanging the arms exchanges *better* and *worse* and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from exonerate.core.stats.intervals import SD_IDENTICAL, FloatArray, IntArray, spread
from exonerate.core.stats.stopping import FIXED, Plan

VerdictName: TypeAlias = Literal["better", "worse", "flat", "undecided", "invalid"]

BLOCKS_MIN = 3
UNDECIDED, FLAT, BETTER, WORSE = range(4)
NAMES: tuple[VerdictName, ...] = ("undecided", "flat", "better", "worse")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rule found for each cell; every array is (..., cells), bounds are logarithms.

    `lo`, `hi` is the family's interval, `flat_lo`, `flat_hi` the one of the equivalence test; NaN
    where there is none. `verdict` holds an index into `NAMES`.
    """

    mean: FloatArray
    sd: FloatArray
    n: IntArray
    lo: FloatArray
    hi: FloatArray
    flat_lo: FloatArray
    flat_hi: FloatArray
    verdict: npt.NDArray[np.int8]


def judge(
    differences: FloatArray,
    *,
    margin: float,
    plan: Plan = FIXED,
    family: int | None = None,
    higher_is_better: bool = True,
) -> Judgement:
    """Judge block differences of logarithms, shape (..., blocks, cells); NaN marks a missing one.

    `family` counts the tests that share the error (all cells unless given; 1 for the one
    pre-registered endpoint).
    """
    found = spread(differences)
    share = differences.shape[-1] if family is None else family
    informative = (found.n >= 2) & (found.sd > SD_IDENTICAL)
    error = np.where(informative, found.sd / np.sqrt(np.maximum(found.n, 1)), np.nan)
    half = plan.critical_t(found.n, share) * error
    flat_half = plan.flat_critical_t(found.n) * error
    judgement = Judgement(
        found.mean,
        found.sd,
        found.n,
        found.mean - half,
        found.mean + half,
        found.mean - flat_half,
        found.mean + flat_half,
        np.zeros(found.mean.shape, dtype=np.int8),
    )
    judgement.verdict[...] = _rule(judgement, np.log1p(margin), higher_is_better)
    return judgement


def _rule(found: Judgement, delta: float, higher_is_better: bool) -> npt.NDArray[np.int8]:
    # A comparison with NaN is False, so cells without an interval fall through to undecided.
    flat = (found.flat_lo > -delta) & (found.flat_hi < delta)
    up = (found.lo > 0) & (found.mean >= delta)
    down = (found.hi < 0) & (found.mean <= -delta)
    better, worse = (up, down) if higher_is_better else (down, up)
    code = np.select([flat, better, worse], [FLAT, BETTER, WORSE], default=UNDECIDED)
    return np.where(found.n >= BLOCKS_MIN, code, UNDECIDED).astype(np.int8)
