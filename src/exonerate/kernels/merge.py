"""The merge of partial answers that carry a log-sum-exp, as libraries exchange them.

    w_i = exp(lse_i - max_j lse_j)      out = sum_i w_i out_i / sum_i w_i
    lse = max_j lse_j + log(sum_i w_i)

What it cannot do is told in `reference`: log-sum-exps lose log(l) under a large offset. What it
must do is know an empty part. Libraries mark one in three ways: -inf (FlashInfer,
FlashAttention-3), +inf (FlashAttention-2, FlashMLA) or a large negative number (-1e30 in
FlashInfer's kernel for sm_120); all three are taken here, and what an empty part's `out` holds is
not looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.number_formats import Array
from exonerate.kernels.reference import Float32Array, finite_max, one_for_zero

SENTINEL = np.float32(-1e29)
"""A log-sum-exp of a score below this would need scores that no format of an input reaches."""


def merge(outs: Array, lses: Array) -> tuple[Array, Float32Array]:
    """out (batch, q_heads, dim_v) and lse (batch, q_heads) of all parts together.

    Args:
        outs: (parts, batch, q_heads, dim_v)
        lses: (parts, batch, q_heads), natural logarithms
    """
    empty = (lses <= SENTINEL) | (lses == np.inf)  # (parts, batch, q_heads)
    lse = np.where(empty, -np.inf, lses).astype(np.float32)
    out = np.where(empty[..., None], 0, outs).astype(np.float32)
    with np.errstate(all="ignore"):
        top = np.max(lse, axis=0, initial=-np.inf).astype(np.float32)  # (batch, q_heads)
        w = np.exp(lse - finite_max(top))  # (parts, batch, q_heads)
        total = np.sum(w, axis=0)  # (batch, q_heads)
        # Weights are divided first: a sum of large values must not overflow on its way.
        share = w / one_for_zero(total)
        merged = np.sum(share[..., None] * out, axis=0)  # (batch, q_heads, dim_v)
        merged_lse: NDArray[np.float32] = np.where(total == 0, -np.inf, top + np.log(total))
    return merged.astype(outs.dtype), merged_lse.astype(np.float32)
