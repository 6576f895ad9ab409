"""Makes an attention out of a merge, so that a merge alone can be proved by the same sweep.

Our reference attends to each split; the target merges what it leaves. An empty split has the
log-sum-exp that the caller names and, as its answer, NaN: nobody has written it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exonerate.kernels.reference import ScoreRule, headroom, one_for_zero, partial
from exonerate.kernels.split_rule import SplitRule, ranges

Merge = Callable[..., Any]


def attention_of(merge: Merge, *, empty_lse: float, to_tensors: bool) -> Callable[..., Any]:
    """attend(q, k, v, lengths, splits) whose combine is the given merge(outs, lses)."""

    def attend(q: Any, k: Any, v: Any, lengths: Any, splits: int) -> Any:
        outs, lses = partial_answers(
            _numpy(q), _numpy(k), _numpy(v), _numpy(lengths), splits, empty_lse=empty_lse
        )
        if not to_tensors:
            return merge(outs.astype(q.dtype), lses)
        torch = __import__("torch")  # the target computes with it
        return merge(
            torch.from_numpy(outs).to(device=q.device, dtype=q.dtype),
            torch.from_numpy(lses).to(q.device),
        )

    return attend


def partial_answers(
    q: Any, k: Any, v: Any, lengths: Any, splits: int, *, empty_lse: float
) -> tuple[Any, Any]:
    """outs (splits, batch, q_heads, dim_v) and lses (splits, batch, q_heads) of our reference."""
    rule = SplitRule(num_splits=splits)
    batch, q_heads, dim = q.shape
    shape = (splits, batch, q_heads)
    outs = np.full((*shape, v.shape[3]), np.nan, np.float32)
    lses = np.full(shape, empty_lse, np.float32)
    for b in range(batch):
        n = int(lengths[b])
        c = headroom(n)
        for i, (start, stop) in enumerate(ranges(n, rule.chunk(n, splits))):
            part = partial(q[b], k[b, start:stop], v[b, start:stop], c, ScoreRule(dim**-0.5))
            with np.errstate(all="ignore"):
                outs[i, b] = part.acc / one_for_zero(part.l)[:, None]
                lses[i, b] = np.where(part.l == 0, empty_lse, part.m + np.log(part.l / c))
    return outs, lses


def _numpy(array: Any) -> Any:
    """The array as NumPy has it; a tensor's values as float32, which holds every 16-bit format."""
    if isinstance(array, np.ndarray):
        return array
    values = array.detach().cpu()
    return (values.float() if values.is_floating_point() else values).numpy()
