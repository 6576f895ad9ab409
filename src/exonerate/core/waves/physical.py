"""Could attention really take that long? What a fit implies, set against what is known.

A fit only says that a term of this shape and size helps. The size is checkable without another
benchmark: the share of the step that attention would have to take is one number of a profiler's
trace, and at a CTA's fair share of the memory bandwidth it implies how many KV tokens a CTA reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.waves.fit import Fit
from exonerate.core.waves.gpus import Gpu
from exonerate.errors import ExonerateError

# A trace of another load or concurrency may differ by this much and still be the same cause.
TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class PhysicalInputs:
    """What is known of the kernel; each may be missing.

    `share_measured` is attention's share of a decode step in a profiler's trace.
    """

    layers: int | None = None
    bytes_per_token: float | None = None
    share_measured: float | None = None


@dataclass(frozen=True, slots=True)
class PhysicalCheck:
    """Attention as the fit needs it.

    `tokens_implied` are the KV tokens that one unsplit work unit would read per layer.
    `state` is `passes`, `fails` or `unverified`.
    """

    share_min: float
    share_max: float
    attention_ms_min: float
    attention_ms_max: float
    tokens_implied: float | None
    share_measured: float | None
    state: str
    why: str


def physical_check(fit: Fit, gpu: Gpu, inputs: PhysicalInputs) -> PhysicalCheck:
    """What the fitted attention time would mean on this GPU."""
    _refuse_impossible(inputs)
    shares = [cell.attention_share for cell in fit.cells]
    times = [fit.coefficients.attention_ms * cell.relative for cell in fit.cells]
    low, high = min(shares), max(shares)
    state, why = _state(fit, low, high, inputs.share_measured)
    return PhysicalCheck(
        low,
        high,
        min(times),
        max(times),
        _tokens(fit, gpu, inputs),
        inputs.share_measured,
        state,
        why,
    )


def _state(fit: Fit, low: float, high: float, measured: float | None) -> tuple[str, str]:
    constants = fit.coefficients
    if constants.fixed_ms < 0 or constants.per_request_ms < 0:
        return "fails", "a constant of the step time is negative"
    needed = f"attention would have to be {100 * low:.0f} to {100 * high:.0f} % of the step"
    if measured is None:
        return "unverified", f"{needed}; no trace says whether it is"
    inside = low * (1 - TOLERANCE) <= measured <= high * (1 + TOLERANCE)
    found = f"the trace says {100 * measured:.0f} %"
    return ("passes" if inside else "fails"), f"{needed}; {found}"


def _tokens(fit: Fit, gpu: Gpu, inputs: PhysicalInputs) -> float | None:
    if gpu.bandwidth_gb_s is None or inputs.layers is None or inputs.bytes_per_token is None:
        return None
    seconds = fit.coefficients.attention_ms / 1000.0 / inputs.layers
    return seconds * gpu.bandwidth_gb_s * 1e9 / gpu.sms / inputs.bytes_per_token


def _refuse_impossible(inputs: PhysicalInputs) -> None:
    share, layers, size = inputs.share_measured, inputs.layers, inputs.bytes_per_token
    if share is not None and not 0 < share < 1:
        raise ExonerateError(
            f"a measured share of {share} is not a share of a step",
            "give a fraction between 0 and 1, such as `--measured-share 0.35`",
        )
    if layers is not None and layers < 1:
        raise ExonerateError(f"{layers} layers is not a model", "give the layers with attention")
    if size is not None and not 0 < size < 1e9:
        raise ExonerateError(
            f"{size} bytes per KV token is not possible",
            "give the bytes that one work unit reads per token and layer",
        )
