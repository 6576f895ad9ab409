"""The plots."""

from __future__ import annotations

from exonerate.core.waves.answers import FitRequest, PlanRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.core.waves.physical import PhysicalInputs
from exonerate.core.waves.table import table_of
from exonerate.jobs.splitk_fit import splitk_fit
from exonerate.jobs.splitk_plan import splitk_plan
from exonerate.report.waves_plot import fit_plot, plan_plot

DEVICE = device_of(gpu_named("RTX PRO 6000 Blackwell"), Residency())
LOAD = Workload(2, parse_lengths("8192"), 64, 1 << 20)


def test_a_plan_is_drawn_the_same_way_twice() -> None:
    """SVG without date or random names, so that a repository shows real changes only."""
    request = PlanRequest(
        DEVICE, "target_ctas:ceil", LOAD, Costs(), None, None, (48, 96), (256, 512)
    )
    answer = splitk_plan(request, lambda _text, _fraction: None)
    first = plan_plot(answer, "svg")
    assert first.startswith(b"<?xml")
    assert first == plan_plot(answer, "svg")


def test_a_fit_is_drawn_with_its_verdict() -> None:
    """PNG bytes; the picture says itself that it shows a hypothesis."""
    rows = [(c, 256, 700.0 + c) for c in (8, 16, 24, 32, 40)]
    request = FitRequest(table_of(rows), DEVICE, LOAD, Costs(), PhysicalInputs(), "TARGET_CTAS", 0)
    answer = splitk_fit(request, lambda _text, _fraction: None)
    assert fit_plot(answer, "png").startswith(b"\x89PNG")
