"""The rule is chosen again without each cell."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.reselection import reselected, reselected_by_concurrency
from exonerate.core.waves.table import Table

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())


def test_the_founding_choice_does_not_hang_on_one_cell(founding: Table) -> None:
    """Eight of eight, and the predictions are off by 5.9 tokens/s."""
    found = reselected(founding, TRIED)
    assert found.same("2C target_ctas:ceil") == 8
    assert round(found.rmse, 1) == 5.9


def test_one_wild_cell_shows_up_as_another_choice(founding: Table) -> None:
    """With a ruined cell the other rules win, except where that cell is left out."""
    ruined = replace(founding.cells[3], value=1200.0)
    table = Table((*founding.cells[:3], ruined, *founding.cells[4:]))
    found = reselected(table, TRIED)
    assert found.chosen[3] == "2C target_ctas:ceil"
    assert found.same("2C target_ctas:ceil") < 8


def test_a_whole_concurrency_can_be_left_out(founding: Table) -> None:
    """Neither of its cells is seen; the choice stays with four of four."""
    found = reselected_by_concurrency(founding, TRIED)
    assert len(found.chosen) == 4
    assert found.rmse > reselected(founding, TRIED).rmse
