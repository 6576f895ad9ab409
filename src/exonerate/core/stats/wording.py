"""The reasons of verdicts, in words: what was compared with what."""

from __future__ import annotations

import numpy as np

from exonerate.core.stats.intervals import SD_IDENTICAL
from exonerate.core.stats.power import BLOCKS_SEARCHED_MAX
from exonerate.core.stats.stopping import Plan
from exonerate.core.stats.verdicts import BLOCKS_MIN, Judgement, VerdictName


def percent(ratio: float) -> str:
    """A ratio as a signed percentage with one decimal."""
    return f"{100 * ratio:+.1f} %".replace("-", "−")


def share(ratio: float) -> str:
    """A ratio as a percentage without a sign, with as many digits as it has."""
    return f"{100 * ratio:.3g} %"


def interval(low: float, high: float) -> str:
    """An interval of logarithms as percentages."""
    if not np.isfinite(high):
        return "[unbounded]"
    return f"[{100 * np.expm1(low):+.1f}, {100 * np.expm1(high):+.1f}] %".replace("-", "−")


def why_invalid(gate: str) -> str:
    """Why a cell whose gate is broken has no number."""
    return f"{gate}; no number is compared"


def why_of(
    found: Judgement, verdict: VerdictName, *, margin: float, plan: Plan, needed: int | None
) -> str:
    """Why one endpoint (the first of `found`) got its verdict."""
    note = ""
    if plan.kind == "open":
        note = "; judged by the e-process, because more blocks were run than planned"
    if verdict == "flat":
        return _why_flat(found, margin) + note
    if verdict == "undecided":
        return _why_undecided(found, margin, needed) + note
    reach = interval(found.lo[0], found.hi[0])
    nearest = min(abs(found.lo[0]), abs(found.hi[0]))
    surely = ", surely so" if nearest > np.log1p(margin) else ""
    return f"interval {reach} leaves out 0 and the estimate passes {share(margin)}{surely}" + note


def _why_flat(found: Judgement, margin: float) -> str:
    within = interval(found.flat_lo[0], found.flat_hi[0])
    text = f"equivalence interval {within} lies within ±{share(margin)}"
    if found.lo[0] > 0 or found.hi[0] < 0:
        text += "; the difference is real but immaterial"
    return text


def _why_undecided(found: Judgement, margin: float, needed: int | None) -> str:
    n = int(found.n[0])
    if n < BLOCKS_MIN:
        blocks = "1 block" if n == 1 else f"{n} blocks"
        return f"{blocks}; no verdict is given below {BLOCKS_MIN}" + _more(needed, settled=n < 2)
    if found.sd[0] <= SD_IDENTICAL:
        return "every block repeats the same ratio exactly, so these are not separate measurements"
    reach = interval(found.lo[0], found.hi[0])
    if found.lo[0] <= 0 <= found.hi[0]:
        text = f"interval {reach} holds 0, and being flat within ±{share(margin)} is not proven"
    else:
        text = f"interval {reach} leaves out 0, but a difference of {share(margin)} is not proven"
    return text + _more(needed, settled=False)


def _more(needed: int | None, *, settled: bool) -> str:
    if needed is not None:
        return f"; about {needed} blocks would settle it if estimate and noise stay"
    if settled:
        return ""
    return f"; not even {BLOCKS_SEARCHED_MAX} blocks would settle it if estimate and noise stay"
