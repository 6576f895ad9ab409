"""The job behind `splitk fit`."""

from __future__ import annotations

import pytest

from exonerate.core.waves.answers import FitAnswer, FitRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.physical import PhysicalInputs
from exonerate.core.waves.table import Table, table_of
from exonerate.jobs.splitk_fit import splitk_fit

FOUNDING = table_of(
    [
        (48, 256, 684.7),
        (64, 256, 719.5),
        (80, 256, 833.0),
        (96, 256, 799.3),
        (48, 512, 680.6),
        (64, 512, 811.7),
        (80, 512, 842.7),
        (96, 512, 844.6),
    ]
)


def fitted(table: Table) -> tuple[FitAnswer, list[float]]:
    """The answer, and the fractions of progress that were shown."""
    shown: list[float] = []
    request = FitRequest(
        table,
        device_of(gpu_named("RTX PRO 6000 Blackwell"), Residency()),
        Workload(1, parse_lengths("8192"), 1, 1 << 20),
        Costs(),
        PhysicalInputs(),
        "TARGET_CTAS",
        0,
    )
    return splitk_fit(request, lambda _, fraction: shown.append(fraction or 0.0)), shown


@pytest.fixture(name="founding", scope="module")
def _founding() -> tuple[FitAnswer, list[float]]:
    return fitted(FOUNDING)


@pytest.fixture(name="answer")
def _answer(founding: tuple[FitAnswer, list[float]]) -> FitAnswer:
    return founding[0]


def test_the_founding_table_gets_the_verdict_it_deserves(answer: FitAnswer) -> None:
    """Two units rounded up on 188 slots, error below 4.5 tokens/s, and still a hypothesis."""
    assert answer.best.explanation.label == "2C target_ctas:ceil"
    assert answer.best.rmse <= 4.5
    assert answer.verdict.sentence == "hypothesis; insufficient data to accept"
    assert [one.cells for one in answer.experiments] == [(94, 95), (62, 63)]


def test_a_wider_search_costs_significance(answer: FitAnswer) -> None:
    """p rises from 0.0104 for 76 rules to about 0.016 for 1,520."""
    assert answer.significance.p_corrected == pytest.approx(4 / 384)
    assert answer.wide.explanations == 1520
    assert 4 / 384 <= answer.wide.p_corrected < 0.05


def test_progress_moves_forward(founding: tuple[FitAnswer, list[float]]) -> None:
    """Fractions rise and begin at nothing."""
    _, shown = founding
    assert shown[0] == 0.0
    assert shown == sorted(shown)


def test_a_table_without_waves_is_not_supported() -> None:
    """A smooth table with a little noise: no rule survives the comparison with chance."""
    wobble = (1.0, 0.99, 1.01, 1.005, 0.995, 1.0, 1.01, 0.99)
    cells = [(c, t) for t in (256, 512) for c in (48, 64, 80, 96)]
    table = table_of(
        (c, t, 1000.0 * c / (40 + 0.7 * c) * w) for (c, t), w in zip(cells, wobble, strict=True)
    )
    answer, _ = fitted(table)
    assert answer.verdict.word == "not supported"
    assert not answer.verdict.conclusive
