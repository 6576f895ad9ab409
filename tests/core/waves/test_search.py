"""All explanations on many tables at once."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import fit, ranked, smooth
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.search import Search
from exonerate.core.waves.table import Table, table_of

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())


def test_the_fast_search_finds_what_fitting_one_by_one_finds(founding: Table) -> None:
    """On the founding table and on noisy copies of it."""
    search = Search(founding, TRIED)
    assert search.rmse_observed == pytest.approx(ranked(founding, TRIED)[0].rmse)
    generator = np.random.default_rng(1)
    tables = search.step_ms * generator.uniform(0.7, 1.3, size=(5, 8))
    best = search.rmse_best(tables)
    for row, found in zip(tables, best, strict=True):
        noisy = table_of(
            (c.concurrency, c.target, 1000.0 * c.concurrency / ms)
            for c, ms in zip(founding.cells, row, strict=True)
        )
        one_by_one = min(ranked(noisy, TRIED)[0].rmse, fit(noisy, smooth()).rmse)
        assert found == pytest.approx(one_by_one)


def test_the_observed_table_is_its_own_first_ratio(founding: Table) -> None:
    """Best over straight line: 4.0 of 32.3."""
    search = Search(founding, TRIED)
    best, alone = search.ratios(search.step_ms[None, :])
    assert best[0] == pytest.approx(search.ratio_observed)
    assert alone[0] == pytest.approx(search.ratio_observed)
    assert search.ratio_observed == pytest.approx(4.01 / 32.29, abs=0.001)


def test_equal_patterns_are_tried_once(founding: Table) -> None:
    """Trying a rule twice is not trying more."""
    assert Search(founding, (*TRIED, *TRIED)).patterns == Search(founding, TRIED).patterns


def test_without_a_pattern_the_straight_line_is_the_best(founding: Table) -> None:
    """Rules that say nothing leave the ratio at 1."""
    search = Search(founding, [smooth()])
    assert (search.patterns, search.ratio_observed) == (0, 1.0)
    assert search.ratios(search.step_ms[None, :])[1][0] == 1.0
