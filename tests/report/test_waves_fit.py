"""The terminal report of a fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.waves.answers import FitAnswer, FitRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.physical import PhysicalInputs
from exonerate.core.waves.table import Table, table_of
from exonerate.jobs.splitk_fit import splitk_fit
from exonerate.report.waves_fit import fit_text

CELLS = [(c, t) for t in (256, 512) for c in (48, 64, 80, 96)]
FOUNDING = (684.7, 719.5, 833.0, 799.3, 680.6, 811.7, 842.7, 844.6)


def fitted(table: Table, physical: PhysicalInputs) -> FitAnswer:
    """The answer for that table."""
    request = FitRequest(
        table,
        device_of(gpu_named("RTX PRO 6000 Blackwell"), Residency()),
        Workload(1, parse_lengths("8192"), 1, 1 << 20),
        Costs(),
        physical,
        "TARGET_CTAS",
        0,
    )
    return splitk_fit(request, lambda _text, _fraction: None)


@pytest.fixture(name="answer", scope="module")
def _answer() -> FitAnswer:
    table = table_of((c, t, v) for (c, t), v in zip(CELLS, FOUNDING, strict=True))
    return fitted(table, PhysicalInputs(layers=43, bytes_per_token=584))


def test_the_verdict_comes_first_and_its_reasons_after(answer: FitAnswer) -> None:
    """Nobody has to read to the end to learn that it is a hypothesis."""
    text = fit_text(answer)
    assert text.startswith("verdict: hypothesis; insufficient data to accept\n")
    for said in (
        "best rule: target_ctas:ceil, base 2 per request, 188 slots",
        "C 80 to 96: measured -4.0 %, fitted -5.0 %: reproduced",
        "target 512: no dip, measured or fitted",
        "p = 0.01, corrected for the 76 rules tried",
        "36 to 47 % of the step",
        "14,343 KV tokens per layer",
        "not met  at least 8 distinct concurrencies: 4",
        "C = 94 against 95 at target 256",
        "C = 62 against 63 at target 256",
        "exonerate ab TARGET_CTAS --plan -C 94,95 --blocks 5",
    ):
        assert said in text


def test_a_hopeless_experiment_says_that_it_is(answer: FitAnswer) -> None:
    """Differences too small for eight blocks are not sold as decisive."""
    small = tuple(replace(one, blocks=None) for one in answer.experiments)
    text = fit_text(replace(answer, experiments=small))
    assert "not decided within 8 blocks at 3 % noise" in text
    assert "--blocks 8" in text


def test_chance_that_fits_as_well_is_counted(answer: FitAnswer) -> None:
    """A share of the random tables, where there is one."""
    lucky = replace(answer.significance, random_share=0.25)
    assert "25 % of 5000 fits as well" in fit_text(replace(answer, significance=lucky))


def test_a_table_without_waves_names_no_experiment() -> None:
    """Constant step time per request: nothing to find, nothing to separate."""
    table = table_of((c, t, 1000.0 * c / (40 + 0.7 * c)) for c, t in CELLS)
    text = fit_text(fitted(table, PhysicalInputs()))
    assert text.startswith("verdict: not supported; insufficient data to decide")
    assert "would separate them" in text
