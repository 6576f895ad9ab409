"""p-values: calibrated where there is nothing, alert where there is something."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import Explanation
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.rules import TARGET_RULES
from exonerate.core.waves.search import Search
from exonerate.core.waves.significance import shufflings, significance
from exonerate.core.waves.table import Table, table_of

LOAD = Workload(1, parse_lengths("8192"), 1, 1 << 20)
TRIED = tried(Machine(188), LOAD, Costs())
SIMPLE = tried(Machine(188), LOAD, Costs(), TARGET_RULES)
LEVELS = (16, 24, 40, 48, 64, 80, 96)
TARGETS = (256, 512)


def test_the_founding_table_has_these_p_values(founding: Table) -> None:
    """All 40,320 and all 384 orders: 0.00012 and 4/384; the larger one counts."""
    found = significance(founding, TRIED, seed=0)
    cells, targets = found.shufflings
    assert (cells.null, cells.tables, cells.exact) == ("cells", 40_320, True)
    assert (targets.null, targets.tables, targets.exact) == ("targets", 384, True)
    assert cells.p_corrected == pytest.approx(5 / 40_320, abs=2 / 40_320)
    assert targets.p_corrected == pytest.approx(4 / 384)
    assert found.p_corrected == targets.p_corrected
    assert cells.p_alone <= cells.p_corrected
    assert found.rules_tried == 76


def test_random_tables_of_the_same_range_are_fitted_far_worse(founding: Table) -> None:
    """About 30 tokens/s where the founding table is fitted to 4."""
    found = significance(founding, TRIED, seed=0, random_tables=500)
    low, middle, high = found.random_rmse
    assert 10 < low < 20 < middle < 40 < high
    assert found.random_share < 0.01


def made(step_ms: Callable[[int, int], float]) -> Table:
    """A table from step times."""
    return table_of((c, t, 1000.0 * c / step_ms(c, t)) for t in TARGETS for c in LEVELS)


def p_of(table: Table, seed: int, which: int) -> float:
    """Corrected p-value from few shuffles."""
    return shufflings(Search(table, SIMPLE), table, seed=seed, samples=199)[which].p_corrected


def line_and_noise(generator: random.Random) -> Table:
    """A straight line; each cell is off by its own noise."""
    return made(lambda c, t: 30 + 0.6 * c + generator.gauss(0, 2))


def bumps_and_noise(generator: random.Random) -> Table:
    """Any curve in the concurrency, shared by the targets; the target only adds noise."""
    curve = {c: 30 + 0.6 * c + generator.gauss(0, 8) for c in LEVELS}
    return made(lambda c, t: curve[c] + generator.gauss(0, 1))


@pytest.mark.parametrize(("nothing", "which"), [(line_and_noise, 0), (bumps_and_noise, 1)])
def test_p_is_calibrated_where_waves_do_nothing(
    nothing: Callable[[random.Random], Table], which: int
) -> None:
    """Of 200 tables without waves about a tenth has p <= 0.1: 20, within three standard errors."""
    generator = random.Random(7)
    small = sum(p_of(nothing(generator), seed, which) <= 0.1 for seed in range(200))
    assert 20 - 3 * 4.3 <= small <= 20 + 3 * 4.3


def test_shuffling_cells_alone_would_mistake_shared_bumps_for_waves() -> None:
    """Why the larger p-value counts: a bumpy curve that both targets share looks significant."""
    generator = random.Random(7)
    tables = [bumps_and_noise(generator) for _ in range(100)]
    by_cells = sum(p_of(table, seed, 0) <= 0.1 for seed, table in enumerate(tables))
    by_both = sum(
        max(p_of(table, seed, 0), p_of(table, seed, 1)) <= 0.1 for seed, table in enumerate(tables)
    )
    assert by_both < by_cells


def test_waves_that_are_there_are_found() -> None:
    """Attention of 40 ms in waves with 1 ms of noise: p below 0.05 in at least 19 of 20 tables."""
    waves = next(one for one in SIMPLE if one.label == "2C target_ctas:ceil")
    generator = random.Random(3)

    def step(c: int, t: int) -> float:
        return 26 + 0.4 * c + 40 * waves.time_of(c, t) + generator.gauss(0, 1)

    found = [max(p_of(table, 0, 0), p_of(table, 0, 1)) for table in (made(step) for _ in range(20))]
    assert sum(p <= 0.05 for p in found) >= 19


def test_the_same_seed_gives_the_same_p_value() -> None:
    """A sample of orders is drawn from the seed and nothing else."""
    table = line_and_noise(random.Random(1))
    assert p_of(table, 5, 0) == p_of(table, 5, 0)
    assert shufflings(Search(table, SIMPLE), table, seed=5, samples=99)[0].p_floor == 0.01


def test_a_table_with_holes_has_one_null_hypothesis_only() -> None:
    """Targets cannot be shuffled within a concurrency that lacks one."""
    full = line_and_noise(random.Random(1))
    partial = Table(full.cells[:-1])
    found = shufflings(Search(partial, SIMPLE), partial, seed=0, samples=49)
    assert [one.null for one in found] == ["cells"]


def test_correcting_for_more_rules_never_lowers_p(founding: Table) -> None:
    """A longer search has to be paid for."""
    few: list[Explanation] = list(SIMPLE)
    one = shufflings(Search(founding, few), founding, seed=0)
    many = shufflings(Search(founding, TRIED), founding, seed=0)
    assert all(b.p_corrected >= a.p_corrected for a, b in zip(one, many, strict=True))
