"""When an experiment may be looked at, and what each look costs.

Theory of operation
-------------------
A t-test repeated after every block finds differences that are not there. So a plan is fixed
before the first block, and there are three of them:

- ``fixed``: one look, after the planned number of blocks. Two-sided 5 %, *flat* at one-sided 5 %.
- ``looks``: looks after 3, 5 and 8 blocks, each at nominal p .0197, *flat* at one-sided .02
  (a constant boundary; both figures are checked by simulation in the tests).
- ``open``: an unplanned block was added, so any number of looks may have been made. Then only an
  e-process is valid: stop when E >= 1 / alpha (Ville's inequality).

Each plan yields a critical t, and the verdict's arithmetic is the same for all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from exonerate.core.stats.intervals import FloatArray, IntArray, t_quantile
from exonerate.core.stats.multiplicity import bonferroni

PlanKind: TypeAlias = Literal["fixed", "looks", "open"]

ALPHA = 0.05
LOOKS = (3, 5, 8)
LOOK_NOMINAL_P = 0.0197
LOOK_FLAT_ONE_SIDED_P = 0.02
E_PROCESS_G = 1.0
"""Prior variance of the effect, in units of the variance of a difference."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How often the data are looked at, and so the p that each look may use."""

    kind: PlanKind
    two_sided_p: float
    flat_one_sided_p: float

    def critical_t(self, n: IntArray, family: int) -> FloatArray:
        """The t that a two-sided test of one of `family` cells needs with `n` blocks."""
        df = np.maximum(n - 1, 1).astype(np.float64)
        share = bonferroni(self.two_sided_p, family)
        if self.kind == "open":
            return e_critical_t(n, alpha=share)
        return t_quantile(1 - share / 2, df)

    def flat_critical_t(self, n: IntArray) -> FloatArray:
        """The t of each of the two one-sided tests that prove a cell flat."""
        df = np.maximum(n - 1, 1).astype(np.float64)
        if self.kind == "open":
            return e_critical_t(n, alpha=self.flat_one_sided_p)
        return t_quantile(1 - self.flat_one_sided_p, df)


FIXED = Plan("fixed", ALPHA, ALPHA)
LOOKS_AT_3_5_8 = Plan("looks", LOOK_NOMINAL_P, LOOK_FLAT_ONE_SIDED_P)
OPEN = Plan("open", ALPHA, ALPHA)


def plan_for(*, blocks: int, blocks_planned: int | None, looks: bool = False) -> Plan:
    """The plan that `blocks` may be judged by; more than was planned means the e-process."""
    if blocks_planned is not None and blocks > blocks_planned:
        return OPEN
    return LOOKS_AT_3_5_8 if looks else FIXED


def e_value(t: FloatArray, n: IntArray, *, g: float = E_PROCESS_G) -> FloatArray:
    """The e-value of a t statistic of n differences against "no effect".

    E = (1 + n g)**(-1/2) * [(1 + t**2 / v) / (1 + t**2 / (v (1 + n g)))]**((v + 1) / 2), v = n - 1:
    the Bayes factor with the right Haar prior on the scale and N(0, g) on effect / SD, a test
    martingale whatever the SD (Rouder et al. 2009; Lindon et al., arXiv 2205.14762).
    `t` and `n` broadcast; n is at least 2.
    """
    v = n - 1
    ratio = (1 + t**2 / v) / (1 + t**2 / (v * (1 + n * g)))
    return np.asarray((1 + n * g) ** -0.5 * ratio ** ((v + 1) / 2), dtype=np.float64)


def e_critical_t(n: IntArray, *, alpha: float, g: float = E_PROCESS_G) -> FloatArray:
    """The t at which the e-value of n differences reaches 1 / alpha; infinite where it never does.

    With K = (sqrt(1 + n g) / alpha)**(2 / n): t**2 = (n - 1) (K - 1) / (1 - K / (1 + n g)).
    """
    n = np.maximum(n, 2)
    spread = 1.0 + n * g
    k = (np.sqrt(spread) / alpha) ** (2.0 / n)
    reachable = k < spread
    room = np.where(reachable, 1 - k / spread, 1.0)
    return np.where(reachable, np.sqrt((n - 1) * (k - 1) / room), np.inf)
