"""The job behind `splitk plan`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.waves.answers import PlanAnswer, PlanRequest
from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named, gpu_with_sms
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Workload
from exonerate.errors import ExonerateError
from exonerate.jobs.splitk_plan import splitk_plan


def planned(request: PlanRequest) -> PlanAnswer:
    """A plan that shows nobody its progress."""
    return splitk_plan(request, lambda _what, _fraction: None)


REQUEST = PlanRequest(
    device_of(gpu_named("RTX PRO 6000 Blackwell"), Residency()),
    "target_ctas:ceil",
    Workload(2, parse_lengths("8192"), 64, 1 << 20),
    Costs(per_cta=0.02),
    None,
    None,
    (48, 64, 80, 96),
    (256, 512),
)


def test_a_plan_covers_every_cell_and_every_concurrency_between() -> None:
    """Eight cells, and a curve of 49 points for each target."""
    answer = planned(REQUEST)
    assert [(one.target, one.concurrency) for one in answer.plan.outcomes] == [
        (target, c) for target in (256, 512) for c in (48, 64, 80, 96)
    ]
    assert [c for c, _ in answer.plan.curves[256]] == list(range(48, 97))


def test_a_long_range_is_thinned_out_for_the_curve() -> None:
    """A curve is for looking at; cliffs are searched at every step anyway."""
    answer = planned(replace(REQUEST, concurrencies=(8, 1032)))
    assert len(answer.plan.curves[256]) <= 260


def test_the_bandwidth_floor_is_bytes_over_bandwidth() -> None:
    """48 requests x 2 units x 8,192 tokens x 584 bytes at 1,792 GB/s: 256 microseconds."""
    floors = planned(replace(REQUEST, bytes_per_token=584.0)).floors_us
    assert floors[48] == pytest.approx(48 * 2 * 8192 * 584 / 1792e9 * 1e6)
    assert planned(REQUEST).floors_us == {}


@pytest.mark.parametrize(
    "wrong",
    [
        replace(REQUEST, concurrencies=()),
        replace(REQUEST, targets=()),
        replace(REQUEST, targets=(0,)),
        replace(REQUEST, targets=(-256,)),
        replace(REQUEST, targets=(10**12,)),
        replace(REQUEST, concurrencies=(0, 5)),
        replace(REQUEST, concurrencies=(10**9,)),
        replace(REQUEST, saturating=0.0),
        replace(REQUEST, saturating=float("nan")),
        replace(REQUEST, bytes_per_token=-1.0),
        replace(REQUEST, bytes_per_token=584.0, device=device_of(gpu_with_sms(188), Residency())),
        replace(REQUEST, rule="fastest"),
        replace(REQUEST, concurrencies=tuple(range(1, 3000)), targets=(1, 2)),
    ],
)
def test_a_plan_for_an_impossible_launch_is_refused(wrong: PlanRequest) -> None:
    """Each with a hint, none with a traceback."""
    with pytest.raises(ExonerateError) as refused:
        planned(wrong)
    assert refused.value.hint
