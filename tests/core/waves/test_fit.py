"""The fit, on the founding table and on tables with a known answer."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import Explanation, fit, ranked, smooth
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.table import Cell, Table, table_of

LOAD = Workload(1, parse_lengths("8192"), 1, 1 << 20)
TRIED = tried(Machine(188), LOAD, Costs())


def labelled(label: str) -> Explanation:
    """One of the explanations tried."""
    return next(one for one in TRIED if one.label == label)


LEADER = labelled("2C target_ctas:ceil")


def test_the_founding_table_is_best_explained_by_two_units_rounded_up(founding: Table) -> None:
    """Error 4.0 tokens/s against 32 without waves; the next rule is more than twice as far off."""
    fits = ranked(founding, TRIED)
    assert fits[0].explanation.label == "2C target_ctas:ceil"
    assert fits[0].same_as == ()
    assert fits[0].rmse == pytest.approx(4.0, abs=0.05)
    assert fits[0].error_max == pytest.approx(8.1, abs=0.1)
    assert fits[1].rmse > 2 * fits[0].rmse
    assert fit(founding, smooth()).rmse == pytest.approx(32.3, abs=0.1)


def test_the_founding_fit_has_these_constants_and_cells(founding: Table) -> None:
    """26.6 ms, 0.385 ms a request, 37.8 ms of attention; the dip at 96 for 256 only."""
    best = fit(founding, LEADER)
    a = best.coefficients
    assert (a.fixed_ms, a.per_request_ms, a.attention_ms) == pytest.approx(
        (26.6, 0.385, 37.8), rel=0.01
    )
    assert [round(cell.fitted) for cell in best.cells] == [684, 719, 841, 799, 684, 805, 841, 843]
    assert best.rmse_left_out == pytest.approx(5.9, abs=0.1)


def test_known_constants_come_back_exactly() -> None:
    """A table made from the model has no error and its own constants."""
    cells = [(c, t) for t in (256, 512) for c in (40, 56, 64, 72, 80, 96)]
    table = table_of(
        (c, t, 1000.0 * c / (20 + 0.5 * c + 30 * LEADER.time_of(c, t))) for c, t in cells
    )
    found = fit(table, LEADER)
    assert found.rmse == pytest.approx(0, abs=1e-6)
    assert found.coefficients.attention_ms == pytest.approx(30)
    assert ranked(table, TRIED)[0].explanation.label == LEADER.label


def test_attention_that_would_have_to_save_time_is_no_explanation() -> None:
    """A negative constant is dropped: the fit is then the straight line."""
    table = table_of(
        (c, t, 1000.0 * c / (90 + 0.5 * c - 20 * LEADER.time_of(c, t)))
        for t in (256, 512)
        for c in (48, 64, 80, 96)
    )
    found = fit(table, LEADER)
    assert found.coefficients.attention_ms == 0
    assert found.rmse == pytest.approx(fit(table, smooth()).rmse)


def test_a_rule_that_is_a_straight_line_explains_nothing(founding: Table) -> None:
    """Its term cannot be told from the cost per request."""
    line = Explanation("line", 1, lambda c, t: 0.1 * c, True)
    found = fit(founding, line)
    assert found.coefficients.attention_ms == 0
    assert ranked(founding, [line, smooth()])[0].same_as == ("no wave term",)


@given(index=st.integers(0, 7), factor=st.floats(0.5, 1.5))
def test_leaving_one_out_really_leaves_it_out(founding: Table, index: int, factor: float) -> None:
    """However wrong a cell is, the prediction for it does not move; the fit does."""
    cell = founding.cells[index]
    changed = Table(
        tuple(
            Cell(one.concurrency, one.target, one.value * (factor if one is cell else 1.0))
            for one in founding.cells
        )
    )
    before, after = fit(founding, LEADER), fit(changed, LEADER)
    assert after.cells[index].left_out == pytest.approx(before.cells[index].left_out)
    if abs(factor - 1) > 0.01:
        assert after.cells[index].fitted != pytest.approx(before.cells[index].fitted, rel=1e-6)


@given(seed=st.integers(0, 10_000))
def test_a_term_more_never_fits_worse_on_step_times(founding: Table, seed: int) -> None:
    """Least squares with attention has no larger error than the straight line."""
    generator = random.Random(seed)
    noisy = Table(
        tuple(replace(c, value=c.value * generator.uniform(0.8, 1.2)) for c in founding.cells)
    )

    def squares(explanation: Explanation) -> float:
        steps = [
            1000 * cell.concurrency * (1 / cell.fitted - 1 / cell.measured)
            for cell in fit(noisy, explanation).cells
        ]
        return float(np.sum(np.square(steps)))

    assert squares(LEADER) <= squares(smooth()) + 1e-9


def test_shares_are_attention_over_the_step(founding: Table) -> None:
    """36 to 47 % on the founding table."""
    shares = [cell.attention_share for cell in fit(founding, LEADER).cells]
    assert (round(100 * min(shares)), round(100 * max(shares))) == (36, 47)


def test_indistinguishable_rules_are_named_together(founding: Table) -> None:
    """Five rules that all round down are one pattern here."""
    floor = next(
        one for one in ranked(founding, TRIED) if one.explanation.label == "2C target_ctas:floor"
    )
    assert "2C flash_attention_4" in floor.same_as
