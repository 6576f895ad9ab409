"""If the best fit were the truth: how often would the same search find it again?

Tables are drawn from the fitted curve with an assumed noise per cell. Where the cells were measured
once, their noise is unknown, so several are tried. A rule that is found again seldom at a noise
that such measurements usually have cannot be told from its rivals by this table.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from exonerate.core.waves.fit import Fit
from exonerate.core.waves.search import Search

# Coefficients of variation from one restart of a serving engine to the next: quiet to noisy.
NOISES = (0.01, 0.02, 0.03)
TABLES = 1000
_TWO_SIDED_95 = 1.96


@dataclass(frozen=True, slots=True)
class Redrawn:
    """At this noise: how often the rule is found again, and which differences stand out at all.

    `concurrencies_apart` are those whose lowest and highest target differ by more than this noise
    explains at 95 %, taken one by one.
    """

    noise: float
    tables: int
    found_again: float
    concurrencies_apart: tuple[int, ...]


def redrawn(search: Search, best: Fit, *, seed: int) -> tuple[Redrawn, ...]:
    """One answer per noise."""
    generator = np.random.default_rng(random.Random(seed).getrandbits(64))
    fitted = np.array([cell.fitted for cell in best.cells])
    found = []
    for noise in NOISES:
        wobble = np.exp(generator.normal(0.0, noise, size=(TABLES, len(fitted))))
        rules = search.rules_best(1000.0 * search.concurrency / (fitted * wobble))
        again = sum(rule == search.leader for rule in rules) / TABLES
        found.append(Redrawn(noise, TABLES, again, _apart(best, noise)))
    return tuple(found)


def _apart(best: Fit, noise: float) -> tuple[int, ...]:
    """Concurrencies at which the measured targets differ by more than the noise explains."""
    measured: dict[int, list[float]] = {}
    for cell in sorted(best.cells, key=lambda cell: cell.target):
        measured.setdefault(cell.concurrency, []).append(cell.measured)
    limit = _TWO_SIDED_95 * math.sqrt(2.0) * noise
    return tuple(
        concurrency
        for concurrency, values in sorted(measured.items())
        if abs(math.log(values[-1] / values[0])) > limit
    )
