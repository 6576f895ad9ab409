"""What attention is, in float64, with nothing clever: every implementation is measured against it.

    s_t = softcap(scale * q . k_t)                        for t < length
    p_t = exp(s_t) / (exp(sink) + sum_u exp(s_u))
    out = sum_t p_t v_t            lse = log(sum_u exp(s_u))

A row without tokens gives 0 and -inf. Beside the answer the oracle gives what an error bound needs:
how large the terms of each sum are, and how large the products inside a score are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.attention_input import AttentionInput

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Oracle:
    """The float64 answer and the sizes that its conditioning depends on.

    Args:
        out: (batch, q_heads, dim_v)
        lse: (batch, q_heads), natural logarithm, sinks not counted
        magnitude: (batch, q_heads, dim_v) sum_t p_t |v_t|
        score_magnitude: (batch, q_heads) max_t scale * sum_d |q_d k_td|
    """

    out: Float64Array
    lse: Float64Array
    magnitude: Float64Array
    score_magnitude: Float64Array


def attend(given: AttentionInput) -> Oracle:
    """The answer for every row of the input."""
    batch, q_heads, _ = given.q.shape
    out = np.zeros((batch, q_heads, given.v.shape[3]))
    magnitude = np.zeros_like(out)
    lse = np.full((batch, q_heads), -np.inf)
    score_magnitude = np.zeros((batch, q_heads))
    for b in range(batch):
        for h in range(q_heads):
            n, kv_head = int(given.lengths[b]), h // given.group
            if n == 0:
                continue
            q = given.q[b, h].astype(np.float64)  # (dim,)
            k = given.k[b, :n, kv_head].astype(np.float64)  # (n, dim)
            v = given.v[b, :n, kv_head].astype(np.float64)  # (n, dim_v)
            sink = -np.inf if given.sinks is None else float(given.sinks[h])
            with np.errstate(all="ignore"):  # NaN and infinity in, NaN and infinity out
                p, lse[b, h] = _weights(given, q, k, sink)
                out[b, h] = p @ v
                magnitude[b, h] = p @ np.abs(v)
                score_magnitude[b, h] = np.max(np.abs(k) @ np.abs(q)) * given.softmax_scale()
    return Oracle(out, lse, magnitude, score_magnitude)


def _weights(
    given: AttentionInput, q: Float64Array, k: Float64Array, sink: float
) -> tuple[Float64Array, float]:
    """The softmax weight of each token, and the log-sum-exp of the scores."""
    s = (k @ q) * given.softmax_scale()  # (n,)
    if given.softcap is not None:
        s = given.softcap * np.tanh(s / given.softcap)
    m = np.max(s)
    if m == -np.inf:  # every token masked: by convention nothing is attended to
        return np.zeros_like(s), -np.inf
    e = np.exp(s - m)
    l = np.sum(e)
    return e / (l + np.exp(sink - m)), float(m + np.log(l))
