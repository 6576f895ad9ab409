"""Whole comparisons from trials: estimates, intervals, verdicts, guards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from exonerate.core.stats.comparison import Comparison, Question, compare
from exonerate.core.stats.stopping import OPEN
from exonerate.core.stats.trials import Cell, Trial, tabulate

BASELINE = {48: 684.7, 64: 719.5, 80: 833.0, 96: 799.3}
CANDIDATE = {48: 680.6, 64: 811.7, 80: 842.7, 96: 844.6}


def trials(blocks: int, *, noise: float = 0.003, seed: int = 0) -> list[Trial]:
    """The founding table as an experiment with restart noise; the order alternates."""
    rng = np.random.default_rng(seed)
    made = []
    for block in range(1, blocks + 1):
        for arm, level, order in (("256", BASELINE, 1), ("512", CANDIDATE, 2)):
            restart = rng.normal(0, noise)
            for cell, value in level.items():
                made.append(
                    Trial(
                        block=str(block),
                        order=order if block % 2 else 3 - order,
                        arm=arm,
                        cell=cell,
                        value=value * float(np.exp(restart + rng.normal(0, noise))),
                    )
                )
    return made


def ask(
    rows: Sequence[Trial], question: Question | None = None, **broken: dict[Cell, str]
) -> Comparison:
    """The comparison of 512 with 256."""
    return compare(tabulate(rows, ("256", "512")), question or Question(), **broken)


def test_the_effect_is_the_ratio_of_geometric_means() -> None:
    """Candidate over baseline less one is the effect, and scipy's paired interval holds it."""
    rows = trials(5)
    cell = ask(rows).cells[64]
    values = {
        arm: np.log([row.value for row in rows if row.arm == arm and row.cell == 64])
        for arm in ("256", "512")
    }
    assert cell.baseline == pytest.approx(oracle.gmean(np.exp(values["256"])))
    assert cell.effect == pytest.approx((cell.candidate or 0) / (cell.baseline or 1) - 1)
    test = oracle.ttest_1samp(values["512"] - values["256"], 0)
    expected = test.confidence_interval(1 - 0.05 / 4)
    assert cell.ci == pytest.approx((np.expm1(expected.low), np.expm1(expected.high)))
    assert (cell.verdict, cell.n) == ("better", 5)


def test_the_primary_band_has_one_uncorrected_test() -> None:
    """The primary interval is that of the band's mean difference, at 95 %."""
    rows = trials(5)
    primary = ask(rows, Question(primary=(64, 80, 96))).primary
    table = tabulate(rows, ("256", "512"))
    d = table.differences[:, 1:].mean(axis=1)
    expected = oracle.ttest_1samp(d, 0).confidence_interval(0.95)
    assert primary.ci == pytest.approx((np.expm1(expected.low), np.expm1(expected.high)))
    assert primary.verdict == "better"


def test_a_missing_trial_costs_its_pair_and_the_band_of_its_block() -> None:
    """Without one row the cell has one block less, and so has the band that holds it."""
    rows = [row for row in trials(5) if (row.block, row.arm, row.cell) != ("2", "512", 80)]
    found = ask(rows, Question(primary=(64, 80)))
    assert (found.cells[80].n, found.cells[64].n, found.primary.n) == (4, 5, 4)
    assert found.blocks == 5


def test_a_cell_of_one_arm_only_is_undecided_and_says_why() -> None:
    """A cell that the other arm never ran has no numbers."""
    rows = [row for row in trials(5) if (row.arm, row.cell) != ("512", 48)]
    cell = ask(rows).cells[48]
    assert (cell.n, cell.effect, cell.verdict) == (0, None, "undecided")
    assert "no block has both arms" in cell.why


@pytest.mark.parametrize(("blocks", "has_interval"), [(1, False), (2, True)])
def test_one_or_two_blocks_never_give_a_verdict(blocks: int, has_interval: bool) -> None:
    """One block has no interval, two have one; neither has a verdict."""
    found = ask(trials(blocks))
    for endpoint in (*found.cells.values(), found.primary):
        assert endpoint.verdict == "undecided"
        assert (endpoint.ci is not None) == has_interval
        assert f"{blocks} block" in endpoint.why


def test_a_broken_gate_leaves_no_number() -> None:
    """An invalid cell compares nothing, and takes the band that holds it with it."""
    found = ask(trials(5), Question(primary=(64, 80)), invalid={64: "2.0 % of requests failed"})
    assert found.cells[64].verdict == "invalid"
    assert (found.cells[64].effect, found.cells[64].ci, found.cells[64].baseline) == (None,) * 3
    assert found.primary.verdict == "invalid"
    assert "2.0 % of requests failed" in found.primary.why
    assert found.cells[80].verdict != "invalid"


def test_undecided_says_how_many_blocks_would_settle_it() -> None:
    """A noisy cell names a number of blocks, and with that many it is usually settled."""
    found = ask(trials(4, noise=0.03, seed=3))
    needed = found.cells[64].blocks_needed
    assert found.cells[64].verdict == "undecided"
    assert needed is not None
    settled = [ask(trials(needed, noise=0.03, seed=seed)).cells[64] for seed in range(10, 40)]
    assert sum(cell.verdict != "undecided" for cell in settled) >= 20


def test_guards_fail_closed() -> None:
    """A guarded cell is cleared only by proof; noise, few blocks and a broken gate do not."""
    question = Question(guards=(48,))
    assert ask(trials(6), question).guards[0].verdict == "no regression shown"
    for found in (
        ask(trials(6, noise=0.03), question),
        ask(trials(2), question),
        ask(trials(6), question, invalid={48: "errors"}),
    ):
        assert found.guards[0].verdict == "regression not excluded"


def test_a_guard_of_latencies_looks_the_other_way() -> None:
    """Where lower is better, a fall of 12 % is no regression and a rise is not excluded."""
    rows = trials(6)
    falling = compare(tabulate(rows, ("512", "256")), Question(guards=(64,), lower_is_better=True))
    rising = ask(rows, Question(guards=(64,), lower_is_better=True))
    assert falling.guards[0].verdict == "no regression shown"
    assert rising.guards[0].verdict == "regression not excluded"
    assert falling.cells[64].verdict == "better"


def test_latencies_have_no_scaling_anomaly() -> None:
    """A latency that falls with concurrency is not flagged."""
    assert ask(trials(5), Question(lower_is_better=True)).anomalies == ()
    assert [found.verdict for found in ask(trials(5)).anomalies] == ["anomaly", "excluded"]


def test_an_unplanned_block_is_judged_by_the_e_process_and_says_so() -> None:
    """Under the open plan intervals are wider and every reason names the e-process."""
    fixed, open_ = ask(trials(6)), ask(trials(6), Question(plan=OPEN))
    for cell in (48, 64, 80, 96):
        assert "e-process" in open_.cells[cell].why
        assert "e-process" not in fixed.cells[cell].why
    assert fixed.primary.ci is not None
    assert open_.primary.ci is not None
    assert open_.primary.ci[0] < fixed.primary.ci[0]


@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rng: object) -> None:
    """Shuffling the rows of a file changes nothing in the answer."""
    rows = trials(3)
    shuffled = list(rows)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    first, second = ask(rows), ask(shuffled)
    assert second.primary.effect == pytest.approx(first.primary.effect)
    assert {cell: found.verdict for cell, found in second.cells.items()} == {
        cell: found.verdict for cell, found in first.cells.items()
    }
