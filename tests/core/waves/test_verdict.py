"""The word follows from the requirements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import fit, smooth
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.physical import PhysicalInputs, physical_check
from exonerate.core.waves.reselection import Reselection
from exonerate.core.waves.table import Table, table_of
from exonerate.core.waves.verdict import Findings, judge

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())
LEADER = next(one for one in TRIED if one.label == "2C target_ctas:ceil")
GPU = gpu_named("RTX PRO 6000 Blackwell")


def findings(table: Table, share: float | None = None, *, p: float = 0.01) -> Findings:
    """What judging needs, with a choice that is stable."""
    best = fit(table, LEADER)
    return Findings(
        best,
        fit(table, smooth()),
        (p / 2, p),
        Reselection((LEADER.label,) * len(table.cells), best.rmse_left_out),
        physical_check(best, GPU, PhysicalInputs(share_measured=share)),
    )


@pytest.fixture(name="ample", scope="module")
def _ample() -> Table:
    """Eight concurrencies, two targets, three restarts each, made from the model."""
    return table_of(
        (c, t, 1000.0 * c / (26 + 0.4 * c + 38 * LEADER.time_of(c, t)) * wobble)
        for t in (256, 512)
        for c in (40, 48, 56, 62, 63, 72, 94, 95)
        for wobble in (0.999, 1.0, 1.001)
    )


def test_the_founding_table_is_a_hypothesis(founding: Table) -> None:
    """Four concurrencies, one run each, no trace: whatever the p-value."""
    verdict = judge(founding, findings(founding))
    assert verdict.sentence == "hypothesis; insufficient data to accept"
    assert not verdict.conclusive
    unmet = [one.what for one in verdict.requirements if not one.met]
    assert len(unmet) == 3


def test_ample_data_and_a_trace_are_accepted(ample: Table) -> None:
    """Every requirement met."""
    verdict = judge(ample, findings(ample, 0.4))
    assert (verdict.sentence, verdict.conclusive) == ("accepted", True)


def test_ample_data_without_a_trace_are_not(ample: Table) -> None:
    """The size of the effect is unexplained."""
    assert judge(ample, findings(ample)).sentence == "hypothesis; insufficient data to accept"


def test_a_trace_that_contradicts_leaves_a_hypothesis(ample: Table) -> None:
    """The data suffice, but attention does not take that long."""
    verdict = judge(ample, findings(ample, 0.05))
    assert (verdict.sentence, verdict.conclusive) == ("hypothesis", False)


def test_what_chance_matches_is_not_supported(ample: Table, founding: Table) -> None:
    """With enough data that is an answer; with too little it is not."""
    refuted = judge(ample, findings(ample, 0.4, p=0.3))
    assert (refuted.sentence, refuted.conclusive) == ("not supported", True)
    unclear = judge(founding, findings(founding, p=0.3))
    assert unclear.sentence == "not supported; insufficient data to decide"
    assert not unclear.conclusive


def test_a_choice_that_hangs_on_one_cell_is_not_accepted(ample: Table) -> None:
    """Even if everything else holds."""
    found = findings(ample, 0.4)
    moody = replace(found, reselection=Reselection((LEADER.label,) * 15 + ("other",), 5.0))
    assert judge(ample, moody).sentence == "hypothesis"
