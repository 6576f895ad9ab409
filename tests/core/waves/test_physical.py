"""What a fit implies about the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import Coefficients, Fit, fit
from exonerate.core.waves.gpus import gpu_named, gpu_with_sms
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.physical import PhysicalInputs, physical_check
from exonerate.core.waves.table import Table
from exonerate.errors import ExonerateError

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())
RTX = gpu_named("RTX PRO 6000 Blackwell")


@pytest.fixture(name="best")
def _best(founding: Table) -> Fit:
    return fit(founding, next(one for one in TRIED if one.label == "2C target_ctas:ceil"))


def test_the_founding_fit_needs_36_to_47_per_cent_of_the_step(best: Fit) -> None:
    """25 to 57 ms of attention, which nobody has seen in a trace."""
    found = physical_check(best, RTX, PhysicalInputs())
    assert found.state == "unverified"
    assert "36 to 47 % of the step" in found.why
    assert (round(found.attention_ms_min), round(found.attention_ms_max)) == (25, 57)
    assert found.tokens_implied is None


def test_bandwidth_turns_attention_time_into_tokens(best: Fit) -> None:
    """43 layers, 584 bytes a token, 1,792 GB/s over 188 SMs: about 14,000 tokens per CTA."""
    found = physical_check(best, RTX, PhysicalInputs(layers=43, bytes_per_token=584))
    assert found.tokens_implied == pytest.approx(14_343, rel=0.01)
    unknown = physical_check(best, gpu_with_sms(188), PhysicalInputs(43, 584))
    assert unknown.tokens_implied is None


@pytest.mark.parametrize(("share", "state"), [(0.40, "passes"), (0.05, "fails"), (0.9, "fails")])
def test_a_trace_settles_it(best: Fit, share: float, state: str) -> None:
    """Within a quarter of the range that the fit needs, or not."""
    found = physical_check(best, RTX, PhysicalInputs(share_measured=share))
    assert found.state == state
    assert f"{100 * share:.0f} %" in found.why


def test_a_negative_cost_fails_without_a_trace(best: Fit) -> None:
    """A step that gets cheaper with each request is no explanation."""
    odd = replace(best, coefficients=Coefficients(50, -0.1, 20))
    assert physical_check(odd, RTX, PhysicalInputs(share_measured=0.4)).state == "fails"


@pytest.mark.parametrize(
    "inputs",
    [
        PhysicalInputs(share_measured=0),
        PhysicalInputs(share_measured=40),
        PhysicalInputs(share_measured=float("nan")),
        PhysicalInputs(layers=0),
        PhysicalInputs(bytes_per_token=-1),
        PhysicalInputs(bytes_per_token=float("inf")),
    ],
)
def test_impossible_inputs_are_refused(best: Fit, inputs: PhysicalInputs) -> None:
    """Forty is not a share, and no model has no layers."""
    with pytest.raises(ExonerateError):
        physical_check(best, RTX, inputs)
