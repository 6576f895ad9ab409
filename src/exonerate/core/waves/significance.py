"""How often chance alone lets the best of all tried rules fit this well.

Trying many rules and keeping the best makes a good fit cheap. So every shuffled table is given to
all the rules too, and only its best fit is compared. Two different claims of "nothing to see" are
shuffled, and the larger p-value counts:

cells     Step time is a straight line in the concurrency; what is left over belongs to no cell in
          particular and is shuffled among all of them (Freedman and Lane 1983, Journal of
          Business & Economic Statistics 1(4), 292-298).
targets   Step time is any curve in the concurrency, but the target does nothing: the differences
          between targets are shuffled among the concurrencies, and the targets within each. A
          bumpy curve that both targets share can then not pass for an effect of waves.

The statistic is the best rule's error over the straight line's. Every order is taken where there
are at most 40,320, a seeded sample otherwise. With few cells the smallest possible p-value is
large; it is reported as `p_floor`.

Random tables are the picture beside it: cells uniform between the smallest and the largest value
measured. How small an error do the rules reach where there is nothing to find?
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from exonerate.core.waves.fit import Array, Explanation
from exonerate.core.waves.search import TIE, Search
from exonerate.core.waves.table import Table

ORDERS_EXACT_MAX = 40_320
SAMPLES = 20_000
RANDOM_TABLES = 5_000
Orders: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shuffling:
    """One null hypothesis: `p_corrected` over all rules tried, `p_alone` of the leader only."""

    null: str
    tables: int
    exact: bool
    p_alone: float
    p_corrected: float
    p_floor: float


@dataclass(frozen=True, slots=True)
class _Sampling:
    samples: int
    exact_max: int
    seed: int


@dataclass(frozen=True, slots=True)
class Significance:
    """What chance reaches.

    `random_rmse` holds the 5 %, 50 % and 95 % points of the best error on random tables,
    `random_share` how many of them do at least as well as the measured one.
    """

    rules_tried: int
    patterns: int
    shufflings: tuple[Shuffling, ...]
    random_tables: int
    random_rmse: tuple[float, float, float]
    random_share: float

    @property
    def p_corrected(self) -> float:
        """The larger of the p-values, corrected for every rule tried."""
        return max(one.p_corrected for one in self.shufflings)


def significance(
    table: Table,
    explanations: Sequence[Explanation],
    *,
    seed: int,
    samples: int = SAMPLES,
    random_tables: int = RANDOM_TABLES,
) -> Significance:
    """Compare the best fit with chance; the same seed gives the same numbers."""
    search = Search(table, explanations)
    drawn = search.rmse_best(_uniform_tables(search, random_tables, seed))
    low, middle, high = (float(point) for point in np.quantile(drawn, [0.05, 0.5, 0.95]))
    return Significance(
        rules_tried=len(explanations),
        patterns=search.patterns,
        shufflings=shufflings(search, table, seed=seed, samples=samples),
        random_tables=random_tables,
        random_rmse=(low, middle, high),
        random_share=float(np.mean(drawn <= search.rmse_observed + TIE)),
    )


def shufflings(
    search: Search,
    table: Table,
    *,
    seed: int,
    samples: int = SAMPLES,
    exact_max: int = ORDERS_EXACT_MAX,
) -> tuple[Shuffling, ...]:
    """Both null hypotheses; the second needs every concurrency at every target, two or more."""
    sampling = _Sampling(samples, exact_max, seed)
    found = [_shuffling("cells", search, *_cells_shuffled(search, sampling))]
    if len(table.targets) > 1 and len(table.cells) == len(table.targets) * len(table.concurrencies):
        targets = len(table.targets)
        found.append(_shuffling("targets", search, *_targets_shuffled(search, targets, sampling)))
    return tuple(found)


def _shuffling(null: str, search: Search, tables: Array, exact: bool) -> Shuffling:
    best, alone = search.ratios(np.maximum(tables, TIE))
    # A sample counts the observed order as one of its own, or p could be 0.
    extra = 0 if exact else 1
    count = len(tables) + extra

    def share(ratios: Array) -> float:
        return float((np.sum(ratios <= search.ratio_observed + TIE) + extra) / count)

    return Shuffling(null, len(tables), exact, share(alone), share(best), 1 / count)


def _cells_shuffled(search: Search, sampling: _Sampling) -> tuple[Array, bool]:
    fitted: Array = search.line @ search.step_ms
    rest: Array = search.step_ms - fitted
    cells = len(rest)
    exact = math.factorial(min(cells, 20)) <= sampling.exact_max
    orders: Iterable[Sequence[int]] = (
        itertools.permutations(range(cells)) if exact else _sampled(cells, sampling)
    )
    return fitted + rest[np.array(list(orders), dtype=np.int64)], exact


def _targets_shuffled(search: Search, targets: int, sampling: _Sampling) -> tuple[Array, bool]:
    by_target = search.step_ms.reshape(targets, -1)
    mean: Array = by_target.mean(axis=0)
    deviation: Array = by_target - mean
    levels = by_target.shape[1]
    count = math.factorial(min(levels, 20)) * math.factorial(min(targets, 20)) ** levels
    exact = count <= sampling.exact_max
    pairs = _every_order(levels, targets) if exact else _some_orders(levels, targets, sampling)
    tables = [
        (mean + deviation[np.array(within).T, np.array(between)]).reshape(-1)
        for between, within in pairs
    ]
    return np.array(tables), exact


_Pair: TypeAlias = tuple[Sequence[int], Sequence[Sequence[int]]]


def _every_order(levels: int, targets: int) -> Iterable[_Pair]:
    within = list(itertools.permutations(range(targets)))
    return itertools.product(
        itertools.permutations(range(levels)), itertools.product(within, repeat=levels)
    )


def _some_orders(levels: int, targets: int, sampling: _Sampling) -> Iterable[_Pair]:
    generator = random.Random(sampling.seed)
    for _ in range(sampling.samples):
        between = generator.sample(range(levels), levels)
        yield between, [generator.sample(range(targets), targets) for _ in range(levels)]


def _sampled(cells: int, sampling: _Sampling) -> Iterable[Sequence[int]]:
    generator = random.Random(sampling.seed)
    return (generator.sample(range(cells), cells) for _ in range(sampling.samples))


def _uniform_tables(search: Search, count: int, seed: int) -> Array:
    generator = np.random.default_rng(random.Random(seed).getrandbits(64))
    low, high = float(search.throughput.min()), float(search.throughput.max())
    values = generator.uniform(low, high, size=(count, len(search.throughput)))
    tables: Array = 1000.0 * search.concurrency / values
    return tables
