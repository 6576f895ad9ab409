"""How far from float64 a correct implementation may be, element by element.

For out = sum_t p_t v_t with A = sum_t p_t |v_t| and K = max_t scale * sum_d |q_d k_td|:

    |error| <=  u_out |out|                         rounding the answer
             +  A * [ u32 (2 sqrt(n) + 16)          n additions, and one exp, in float32
                    + u32 * 16 K                    scores: an error d in a score is a factor e^d
                    + u_in * 4 ]                    p and partials rounded to 16-bit inputs' format
             +  smallest normals                    hardware may flush denormals to zero

u is half a unit in the last place (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
sections 3.1 and 4.2: the worst case grows with n, the typical one with its square root). The
constants leave a factor of four and more above what correct implementations show here; a single
token left out, or a weight wrong in its fourth digit, is far above it. Where every score is exact
by construction the term in K falls away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.attention_input import AttentionInput, out_dtype
from exonerate.kernels.number_formats import number_format
from exonerate.kernels.oracle import Oracle

Float64Array = NDArray[np.float64]

SCORE_ERROR_MAX = 0.05
"""Above this the first-order term in K means nothing, and the trial is not judged by error."""


def out_bound(
    given: AttentionInput, oracle: Oracle, *, partial_dtype: str, exact_scores: bool
) -> Float64Array:
    """Largest error of each element of out; infinite where the scores decide nothing."""
    u32 = number_format("fp32").unit_roundoff
    n = np.maximum(given.lengths, 1).astype(np.float64)[:, None]  # (batch, 1)
    score = np.zeros_like(oracle.score_magnitude)
    if not exact_scores:
        score = 16 * u32 * oracle.score_magnitude  # (batch, q_heads)
    relative = u32 * (2 * np.sqrt(n) + 16) + score + 4 * coarseness(given.dtype, partial_dtype)
    out = out_dtype(given.dtype)
    with np.errstate(all="ignore"):
        bound = (
            number_format(out).unit_roundoff * 2 * np.abs(oracle.out)
            + oracle.magnitude * relative[..., None]
            + number_format(out).smallest_normal * _denormals(out)
            + number_format("fp32").smallest_normal * n[..., None]
        )
    undecided = (score[..., None] > SCORE_ERROR_MAX) | np.isnan(bound)
    return np.where(undecided, np.inf, bound)


def coarseness(dtype: str, partial_dtype: str) -> float:
    """Unit roundoff of the coarsest format that weights or partials may pass through.

    With an fp8 cache the weights are expected in the queries' format; an implementation that rounds
    them to fp8 too is held to that when `partial_dtype` says so.
    """
    rounded = {name for name in (out_dtype(dtype), partial_dtype) if name != "fp32"}
    return max((number_format(name).unit_roundoff for name in rounded), default=0.0)


def lse_bound(given: AttentionInput, oracle: Oracle, *, exact_scores: bool) -> Float64Array:
    """Largest error of each log-sum-exp: its rounding, the scores', the sum's."""
    u32 = number_format("fp32").unit_roundoff
    n = np.maximum(given.lengths, 1).astype(np.float64)[:, None]
    score = 0.0 if exact_scores else 16 * u32 * oracle.score_magnitude
    with np.errstate(all="ignore"):
        bound: Float64Array = (
            (8 * u32 + coarseness(given.dtype, "fp32")) * np.abs(oracle.lse)
            + score
            + u32 * (2 * np.sqrt(n) + 16)
            + 4 * coarseness(given.dtype, "fp32")
        )
    return bound


def _denormals(dtype: str) -> float:
    """How much of the smallest normal may be lost: a half-unit of a denormal, or all if flushed."""
    return 1.0 if dtype in ("fp32", "bf16") else 2.0**-10
