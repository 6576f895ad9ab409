"""Launches the Triton kernels: chooses tiles and splits, allocates scratch, hands over strides."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
import triton

from exonerate.errors import ExonerateError
from exonerate.kernels.attention_input import check_shapes
from exonerate.kernels.split_rule import SplitRule
from exonerate.kernels.triton_kernels import combine_kernel, split_kernel

Tensor = Any

PARTIAL_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

FIXED_OPTIONS = {"enable_fp_fusion": True}
"""Whether a * b + c is rounded once or twice changes bits, and Triton 3.10 changes the default."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """How the split kernel is cut into blocks; see `compile_gate` for what each costs."""

    heads: int = 16
    tokens: int = 64
    warps: int = 4
    stages: int = 2


def tiles_for(dim: int, group: int, *, exact_products: bool = False) -> Tiles:
    """Tiles that need no register spills and less shared memory than a block may have.

    `exact_products` are float32 ones, which no matrix instruction makes: their operands are spread
    over twice the warps so that they fit into registers.
    """
    heads = 16 if group <= 16 else 32
    if dim > 256:
        return Tiles(heads=heads, tokens=16, warps=8, stages=2)
    if exact_products:
        return Tiles(heads=heads, tokens=32, warps=8, stages=2)
    return Tiles(heads=heads, tokens=64, warps=4, stages=2)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    lengths: Tensor,
    splits: int = 1,
    *,
    out: Tensor | None = None,
    page_table: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    rule: SplitRule | None = None,
    partial_dtype: str = "fp32",
    tiles: Tiles | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of one query per sequence: out (batch, q_heads, dim_v) and lse (batch, q_heads).

    Shapes as in `reference.attend`; k and v may be float8_e4m3fn while q is 16 bits. `rule` takes
    the place of `splits`. The longest length is read from the device: pass `rule` and lengths on
    the CPU to launch without waiting for it.
    """
    refuse_in_interpreter(q)
    if page_table is None:
        check_shapes(q.shape, k.shape, v.shape, batch=len(lengths))
    q, k, v = (_rows_whole(array) for array in (q, k, v))
    batch, q_heads, dim = q.shape
    kv_heads, dim_v = k.shape[2], v.shape[3]
    group = q_heads // kv_heads
    if tiles is None:
        tiles = tiles_for(dim, group, exact_products=q.dtype == torch.float32)
    rule = SplitRule(num_splits=splits) if rule is None else rule
    blocks = batch * kv_heads * -(-group // tiles.heads)
    longest = max(int(lengths.max()) if batch else 0, 1)
    count = rule.splits(base_ctas=blocks, tokens=longest)
    lengths = lengths.to(q.device)
    answer = (
        torch.empty((batch, q_heads, dim_v), dtype=q.dtype, device=q.device) if out is None else out
    )
    if answer.stride(-1) != 1:
        raise ExonerateError("`out` has gaps inside a head", "its last axis must be contiguous")
    lse = torch.empty((batch, q_heads), dtype=torch.float32, device=q.device)
    scratch = _scratch(batch, q_heads, count, dim_v, partial_dtype, q.device)
    launch = _Launch(
        splits=count,
        split_size=rule.split_size or 0,
        headroom=q.dtype != torch.float16,
        narrow=partial_dtype != "fp32",
    )
    if batch:
        _launch_split(
            launch,
            (q, k, v, lengths, page_table),
            scratch,
            tiles,
            (dim**-0.5 if scale is None else scale, softcap),
        )
        _launch_combine(launch, scratch, (lengths, sinks), (answer, lse))
    return answer, lse


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launch:
    """What both kernels must agree on."""

    splits: int
    split_size: int
    headroom: bool
    narrow: bool


def refuse_in_interpreter(q: Tensor) -> None:
    """Triton's interpreter (3.9) multiplies the bit patterns of bf16: it would answer nonsense."""
    if os.environ.get("TRITON_INTERPRET") == "1" and q.dtype == torch.bfloat16:
        raise NotImplementedError("Triton's interpreter computes bf16 wrongly; a GPU is needed")


def _rows_whole(array: Tensor) -> Tensor:
    """The kernels take any strides but the innermost, which is 1."""
    return array if array.stride(-1) == 1 else array.contiguous()


def _scratch(
    batch: int, q_heads: int, splits: int, dim_v: int, partial_dtype: str, device: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """m, l and acc of every split, not initialised: an empty split's slot is never read."""
    if partial_dtype not in PARTIAL_DTYPES:
        raise ExonerateError(
            f"partials cannot be `{partial_dtype}`", f"choose from {', '.join(PARTIAL_DTYPES)}"
        )
    shape = (batch, q_heads, splits)
    m = torch.empty(shape, dtype=torch.float32, device=device)
    l = torch.empty(shape, dtype=torch.float32, device=device)
    acc = torch.empty((*shape, dim_v), dtype=PARTIAL_DTYPES[partial_dtype], device=device)
    return m, l, acc


def _launch_split(
    launch: _Launch,
    inputs: tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None],
    scratch: tuple[Tensor, Tensor, Tensor],
    tiles: Tiles,
    score: tuple[float, float | None],
) -> None:
    q, k, v, lengths, page_table = inputs
    batch, q_heads, dim = q.shape
    kv_heads, dim_v = k.shape[2], v.shape[3]
    group = q_heads // kv_heads
    dims = split_dims(dim)
    scale, softcap = score
    pages = lengths if page_table is None else page_table
    grid = (batch * kv_heads * -(-group // tiles.heads), launch.splits)
    split_kernel[grid](
        q,
        k,
        v,
        pages,
        lengths,
        *scratch,
        q.stride(0),
        q.stride(1),
        *k.stride()[:3],
        *v.stride()[:3],
        pages.stride(0),
        scale,
        1.0 if softcap is None else softcap,
        launch.splits,
        launch.split_size,
        KV_HEADS=kv_heads,
        GROUP=group,
        DIM=dim,
        DIM_MAIN=dims[0],
        DIM_REST=dims[1],
        DIM_V=dim_v,
        BLOCK_REST=max(triton.next_power_of_2(dims[1]), 16),
        BLOCK_V=max(triton.next_power_of_2(dim_v), 16),
        BLOCK_H=tiles.heads,
        BLOCK_N=tiles.tokens,
        PAGE_SIZE=0 if page_table is None else k.shape[1],
        SOFTCAP=softcap is not None,
        HEADROOM=launch.headroom,
        NARROW=launch.narrow,
        LATENT=is_latent(k, v, dims[0]),
        num_warps=tiles.warps,
        num_stages=tiles.stages,
        **FIXED_OPTIONS,
    )


def _launch_combine(
    launch: _Launch,
    scratch: tuple[Tensor, Tensor, Tensor],
    inputs: tuple[Tensor, Tensor | None],
    outputs: tuple[Tensor, Tensor],
) -> None:
    lengths, sinks = inputs
    answer, lse = outputs
    batch, q_heads, dim_v = answer.shape
    combine_kernel[(batch, q_heads)](
        *scratch,
        lengths if sinks is None else sinks,
        lengths,
        answer,
        lse,
        answer.stride(0),
        answer.stride(1),
        launch.splits,
        launch.split_size,
        Q_HEADS=q_heads,
        DIM_V=dim_v,
        BLOCK_V=max(triton.next_power_of_2(dim_v), 16),
        BLOCK_S=16,
        SINKS=sinks is not None,
        HEADROOM=launch.headroom,
        NARROW=launch.narrow,
        num_warps=combine_warps(dim_v),
        **FIXED_OPTIONS,
    )


def combine_warps(dim_v: int) -> int:
    """Warps of the combine kernel: one covers 128 values in float4 loads."""
    return 1 if dim_v <= 128 else 4


def split_dims(dim: int) -> tuple[int, int]:
    """The main part of a dim, the largest power of two in it, and the rest."""
    main = max(1 << (dim.bit_length() - 1), 16)
    return main, max(dim - main, 0)


def is_latent(k: Tensor, v: Tensor, main: int) -> bool:
    """Whether v is the main part of k in the same memory, as in a latent (MLA) cache."""
    return bool(
        v.shape[3] == main
        and k.shape[3] > main
        and v.data_ptr() == k.data_ptr()
        and v.stride() == k.stride()
    )
