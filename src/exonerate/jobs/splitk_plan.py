"""`splitk plan`: waves, cliffs and recommendations for a rule that is taken as known."""

from __future__ import annotations

from exonerate.core.ports import Progress
from exonerate.core.waves.answers import PlanAnswer, PlanRequest
from exonerate.core.waves.explanations import RULES
from exonerate.core.waves.model import (
    Machine,
    WaveModel,
    checked_concurrency,
    checked_target,
)
from exonerate.core.waves.plan import floor_us, plan
from exonerate.core.waves.rules import rule_named
from exonerate.errors import ExonerateError

CELLS_MAX = 4096


def splitk_plan(request: PlanRequest, progress: Progress) -> PlanAnswer:
    """Make the plan; raises ExonerateError for inputs that no launch could have."""
    _refuse(request)
    rule = rule_named(request.rule, RULES)
    machine = Machine(request.device.slots, request.saturating)
    model = WaveModel(rule, machine, request.workload, request.costs)
    return PlanAnswer(
        request.device,
        model,
        rule,
        plan(model, request.concurrencies, request.targets, progress),
        _floors_us(request, model),
    )


def _floors_us(request: PlanRequest, model: WaveModel) -> dict[int, float]:
    size, bandwidth = request.bytes_per_token, request.device.gpu.bandwidth_gb_s
    if size is None:
        return {}
    if bandwidth is None:
        raise ExonerateError(
            f"the memory bandwidth of {request.device.gpu.name} is not known",
            "name a GPU of the table with `--gpu`, or leave out `--bytes-per-token`",
        )
    return {c: floor_us(model, c, size, bandwidth) for c in request.concurrencies}


def _refuse(request: PlanRequest) -> None:
    if not request.concurrencies or not request.targets:
        raise ExonerateError(
            "there is no concurrency or no target to plan",
            "give both, such as `--concurrency 48,64,80,96 --targets 256,512`",
        )
    for concurrency in request.concurrencies:
        checked_concurrency(concurrency)
    for target in request.targets:
        checked_target(target)
    if request.saturating is not None and not 0 < request.saturating < float("inf"):
        raise ExonerateError(
            f"{request.saturating} CTAs cannot saturate the memory",
            "give the number of running CTAs that reach full bandwidth, such as `150`",
        )
    if request.bytes_per_token is not None and not 0 < request.bytes_per_token < 1e9:
        raise ExonerateError(
            f"{request.bytes_per_token} bytes per KV token is not possible",
            "give the bytes that one work unit reads per token and layer",
        )
    cells = len(request.concurrencies) * len(request.targets)
    if cells > CELLS_MAX:
        raise ExonerateError(
            f"{cells} cells are more than a plan holds ({CELLS_MAX})",
            "give a step in the range, such as `--concurrency 8:512:8`",
        )
