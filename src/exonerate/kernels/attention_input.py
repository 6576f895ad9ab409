"""One decode step's input: what every implementation is asked to attend to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionInput:
    """Arrays and options of one call; values lie on the grid of `dtype` and are kept as float32.

    Args:
        q: (batch, q_heads, dim)
        k: (batch, tokens, kv_heads, dim)
        v: (batch, tokens, kv_heads, dim_v); a latent cache is `v` a part of `k`, one KV head
        lengths: (batch,) how many tokens of each sequence count
        dtype: number format of q, k and v; with `fp8` of k and v, and q is `fp16`
        layout: how the arrays lie in memory when the implementation gets them
        page_size: tokens a page, for implementations that take a page table
        softcap: scores become ``softcap * tanh(score / softcap)``
        sinks: (q_heads,) a logit that takes part in the softmax and has no value
    """

    q: NDArray[np.float32]
    k: NDArray[np.float32]
    v: NDArray[np.float32]
    lengths: NDArray[np.int64]
    dtype: str = "fp32"
    layout: str = "contiguous"
    scale: float | None = None
    softcap: float | None = None
    sinks: NDArray[np.float32] | None = None
    page_size: int | None = None

    @property
    def group(self) -> int:
        """Query heads that share one KV head."""
        return int(self.q.shape[1] // max(self.k.shape[2], 1))

    @property
    def size(self) -> int:
        """Numbers in the input: the smaller, the easier to read as a counterexample."""
        return self.q.size + self.k.size + self.v.size

    def softmax_scale(self) -> float:
        """The factor of the scores: 1/sqrt(dim) unless given."""
        return float(self.q.shape[-1] ** -0.5) if self.scale is None else self.scale

    def rows(self, rows: Sequence[int]) -> AttentionInput:
        """The same input with only these sequences of the batch."""
        index = list(rows)
        return replace(
            self,
            q=self.q[index],
            k=self.k[index],
            v=self.v[index],
            lengths=self.lengths[index],
        )

    def kv_heads(self, count: int) -> AttentionInput:
        """The same input with only the first KV heads and the query heads that use them."""
        q_heads = count * self.group
        return replace(
            self,
            q=self.q[:, :q_heads],
            k=self.k[:, :, :count],
            v=self.v[:, :, :count],
            sinks=None if self.sinks is None else self.sinks[:q_heads],
        )

    def tokens(self, start: int, stop: int) -> AttentionInput:
        """The same input with only the tokens from start to stop."""
        return replace(
            self,
            k=self.k[:, start:stop],
            v=self.v[:, start:stop],
            lengths=np.clip(self.lengths - start, 0, stop - start),
        )

    def shape(self) -> dict[str, int | str | list[int]]:
        """The shape in words, for a report."""
        return {
            "batch": int(self.q.shape[0]),
            "q_heads": int(self.q.shape[1]),
            "kv_heads": int(self.k.shape[2]),
            "dim": int(self.q.shape[2]),
            "dim_v": int(self.v.shape[3]),
            "tokens": int(self.k.shape[1]),
            "lengths": [int(length) for length in self.lengths[:8]],
            "layout": self.layout,
        }


def out_dtype(dtype: str) -> str:
    """The format of q and of the answer: `fp8` is the format of the cache alone."""
    return "fp16" if dtype == "fp8" else dtype


def check_shapes(
    q_shape: Sequence[int], k_shape: Sequence[int], v_shape: Sequence[int], *, batch: int
) -> None:
    """Refuse shapes that no reading of the signature can fit together."""
    if len(q_shape) != 3 or len(k_shape) != 4 or len(v_shape) != 4:
        raise ExonerateError(
            f"q, k and v have {len(q_shape)}, {len(k_shape)} and {len(v_shape)} axes",
            "pass q (batch, q_heads, dim), k and v (batch, tokens, kv_heads, dim)",
        )
    if tuple(k_shape[:3]) != tuple(v_shape[:3]) or q_shape[0] != batch:
        raise ExonerateError(
            f"q {tuple(q_shape)}, k {tuple(k_shape)}, v {tuple(v_shape)} and {batch} lengths "
            "do not fit together",
            "batch, tokens and kv_heads must agree",
        )
    if q_shape[2] != k_shape[3] or k_shape[2] < 1 or q_shape[1] % k_shape[2]:
        raise ExonerateError(
            f"{q_shape[1]} query heads of {q_shape[2]} do not fit {k_shape[2]} KV heads "
            f"of {k_shape[3]}",
            "dim must agree and q_heads must be a multiple of kv_heads",
        )
