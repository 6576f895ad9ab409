"""Installed attention libraries behind the prover's signature; both need a GPU.

FlashInfer (`flashinfer-python`) and FlashAttention (`flash-attn`) are called as their documentation
says. They choose their cuts by themselves unless told, so `splits` becomes what each understands.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import torch

Tensor = Any

WORKSPACE_BYTES = 128 * 2**20
"""What FlashInfer's documentation asks for."""


def flash_attn(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, splits: int
) -> tuple[Tensor, Tensor]:
    """`flash_attn_with_kvcache` with `num_splits`; 0 lets it choose."""
    _only_halves(q)
    library = importlib.import_module("flash_attn")
    out, lse = library.flash_attn_with_kvcache(
        q[:, None],  # (batch, 1, q_heads, dim)
        k,
        v,
        cache_seqlens=lengths.to(device=q.device, dtype=torch.int32),
        num_splits=splits,
        return_softmax_lse=True,
    )[:2]
    return out[:, 0], lse[..., 0]


def flashinfer(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, splits: int
) -> tuple[Tensor, Tensor]:
    """FlashInfer's batch decode, its split size set so that the longest sequence gets `splits`."""
    longest = max(int(lengths.max()), 1)
    out, lse = _planned(q, k, v, lengths, fixed_split_size=math.ceil(longest / splits))()
    return out, lse * math.log(2)  # FlashInfer's log-sum-exp is in base 2


def flashinfer_step(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Callable[[], Any]:
    """A step that runs FlashInfer with the cuts of its own choice, planned once, as engines do."""
    planned: list[Callable[[], Any]] = []

    def step() -> Any:
        if not planned:
            planned.append(_planned(q, k, v, lengths))
        return planned[0]()

    return step


def _planned(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, **plan: int
) -> Callable[[], tuple[Tensor, Tensor]]:
    """FlashInfer with each token of the cache as a page of one token."""
    _only_halves(q)
    library = importlib.import_module("flashinfer")
    batch, tokens, kv_heads, dim = k.shape
    on_host = lengths.cpu().to(torch.int32)
    starts = torch.cat([torch.zeros(1, dtype=torch.int32), on_host.cumsum(0).to(torch.int32)])
    pages = torch.cat(
        [torch.arange(int(n), dtype=torch.int32) + b * tokens for b, n in enumerate(on_host)]
    )
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=q.device)
    wrapper = library.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=True)
    wrapper.plan(
        starts.to(q.device),
        pages.to(q.device),
        torch.ones(batch, dtype=torch.int32, device=q.device),
        q.shape[1],
        kv_heads,
        dim,
        1,
        q_data_type=q.dtype,
        kv_data_type=k.dtype,
        **plan,
    )
    cache = tuple(kv.reshape(batch * tokens, 1, kv_heads, kv.shape[3]) for kv in (k, v))
    return lambda: wrapper.run(q, cache, return_lse=True)


def _only_halves(q: Tensor) -> None:
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise NotImplementedError("float16 and bfloat16 only")
