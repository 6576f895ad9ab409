"""Experiments that would decide."""

from __future__ import annotations

import math

import pytest

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import fit, ranked, smooth
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.separate import ab_command, blocks_needed, experiments
from exonerate.core.waves.table import Table, table_of

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())


def test_the_founding_table_asks_for_94_against_95_and_62_against_63(founding: Table) -> None:
    """The first tests waves as such, the second this rule against the next best."""
    waves, rules = experiments(founding, ranked(founding, TRIED), fit(founding, smooth()))
    assert (waves.cells, waves.target) == ((94, 95), 256)
    assert waves.leader.change == pytest.approx(-0.152, abs=0.002)
    assert abs(waves.rivals[0].change) < 0.01
    assert (rules.cells, rules.target) == ((62, 63), 256)
    assert (round(rules.leader.before), round(rules.leader.after)) == (820, 711)
    assert all(rival.change > -0.02 for rival in rules.rivals)
    assert (waves.blocks, rules.blocks) == (5, 5)


def test_the_command_is_ready_to_run(founding: Table) -> None:
    """Knob, the pair of cells and the blocks."""
    first = experiments(founding, ranked(founding, TRIED), fit(founding, smooth()))[0]
    assert ab_command(first, "TARGET_CTAS") == (
        "exonerate ab TARGET_CTAS --plan -C 94,95 --blocks 5"
    )


def test_a_table_without_waves_has_nothing_to_separate() -> None:
    """No rule beats the straight line, so no experiment is named."""
    table = table_of((c, t, 1000.0 * c / (30 + c)) for t in (256, 512) for c in (8, 16, 32, 64))
    line = fit(table, smooth())
    assert experiments(table, (line,), line) == ()
    assert experiments(table, (), line) == ()


def test_a_leader_without_rival_is_only_tested_against_the_line(founding: Table) -> None:
    """One rule tried, one experiment."""
    only = ranked(founding, [one for one in TRIED if one.label == "2C target_ctas:ceil"])
    assert len(experiments(founding, only, fit(founding, smooth()))) == 1


def test_small_differences_need_more_blocks_than_anyone_runs() -> None:
    """15 % is seen in five blocks at 3 % noise, 7 % in seven, 2 % not in eight."""
    assert blocks_needed(math.log(1.15), 0.03) == 5
    assert blocks_needed(0.05, 0.03) == 8
    assert blocks_needed(0.02, 0.03) is None
