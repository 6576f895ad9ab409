"""Decode attention with torch: the fast path of a CPU, and the split-K algorithm in torch.

`attend` hands the work to torch's fused attention in the shape that suits it. A decode step has one
query a sequence, and torch reads the whole KV cache once for each query head; but the query heads
that share a KV head can be passed as if they were the *positions* of one longer query:

    q (batch, q_heads, dim)  ->  (batch, kv_heads, group, dim)

so that each KV head is read once for its whole group. Nothing masks a position from another, so
the answer is the same. On a CPU this fills all cores from (batch, kv_heads) alone, so splitting a
sequence has nothing to give: the number of splits is not looked at.

`attend_split` is `reference.attend` in torch, for what the fused kernel does not do (soft cap, an
odd head size) and as a second reading of the formula on any device.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from exonerate.kernels.attention_input import check_shapes
from exonerate.kernels.split_rule import SplitRule, ranges

Tensor = Any
"""torch.Tensor; torch is optional, so its types are not there for everyone who checks types."""


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
) -> tuple[Tensor, Tensor]:
    """Attention of one query per sequence, as fast as torch does it: out and lse.

    Shapes as in `reference.attend`; out (batch, q_heads, dim_v), lse (batch, q_heads) float32.
    """
    SplitRule(num_splits=splits)  # refuses what no implementation could do
    if softcap is not None or k.shape[3] != v.shape[3] or q.device.type != "cpu":
        return attend_split(
            q,
            k,
            v,
            lengths,
            splits,
            out=out,
            page_table=page_table,
            scale=scale,
            softcap=softcap,
            sinks=sinks,
        )
    if page_table is None:
        check_shapes(q.shape, k.shape, v.shape, batch=len(lengths))
    answer = torch.empty((*q.shape[:2], v.shape[3]), dtype=q.dtype) if out is None else out
    lse = torch.full(q.shape[:2], -math.inf, dtype=torch.float32)
    for start, stop, n in _runs(lengths, alone=page_table is not None):
        if n == 0:
            answer[start:stop] = 0
            continue
        kv = [_stored(cache, start, stop, n, page_table=page_table) for cache in (k, v)]
        part, part_lse = _packed(q[start:stop], kv[0], kv[1], scale)
        if sinks is not None:
            # exp(lse) of the weight is the tokens', exp(sink) the sink's: a sigmoid shares it out.
            part = part * torch.sigmoid(part_lse - sinks)[..., None].to(part.dtype)
        answer[start:stop], lse[start:stop] = part, part_lse
    return answer, lse


def _packed(q: Tensor, k: Tensor, v: Tensor, scale: float | None) -> tuple[Tensor, Tensor]:
    """The fused kernel on q (b, q_heads, dim), k and v (b, n, kv_heads, dim)."""
    batch, q_heads, dim = q.shape
    kv_heads = k.shape[2]
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q.reshape(batch, kv_heads, q_heads // kv_heads, dim),  # (b, kv_heads, group, dim)
        k.transpose(1, 2),  # (b, kv_heads, n, dim)
        v.transpose(1, 2),  # (b, kv_heads, n, dim)
        0.0,
        False,
        attn_mask=None,
        scale=scale,
    )
    return out.reshape(batch, q_heads, dim), lse.reshape(batch, q_heads)


def attend_split(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    lengths: Tensor,
    splits: int,
    *,
    out: Tensor | None = None,
    page_table: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Split-K attention with (m, l, acc) partials in float32; see `reference` for the formula."""
    if page_table is None:
        check_shapes(q.shape, k.shape, v.shape, batch=len(lengths))
    rule = SplitRule(num_splits=splits)
    batch, q_heads, dim = q.shape
    longest = max((int(n) for n in lengths), default=0)
    count = rule.splits(base_ctas=batch * k.shape[2], tokens=max(longest, 1))
    answer = (
        torch.empty((batch, q_heads, v.shape[3]), dtype=q.dtype, device=q.device)
        if out is None
        else out
    )
    lse = torch.empty((batch, q_heads), dtype=torch.float32, device=q.device)
    scores_scale = dim**-0.5 if scale is None else scale
    sink = torch.full((q_heads,), -math.inf, device=q.device) if sinks is None else sinks.float()
    for b in range(batch):
        n = int(lengths[b])
        c = 2.0 ** -math.ceil(math.log2(max(n, 1)))  # headroom, see `reference`
        kv = [_stored(cache, b, b + 1, n, page_table=page_table)[0] for cache in (k, v)]
        partials = [
            _partial(q[b], kv[0][start:stop], kv[1][start:stop], c, (scores_scale, softcap))
            for start, stop in ranges(n, rule.chunk(n, count))
        ]
        row, lse[b] = _combine(partials, c, v.shape[3], sink)
        answer[b] = row.to(q.dtype)
    return answer, lse


def _partial(
    q: Tensor, k: Tensor, v: Tensor, c: float, score: tuple[float, float | None]
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of one split: q (q_heads, dim), k (n, kv_heads, dim), v (n, kv_heads, dim_v)."""
    scale, softcap = score
    qg = q.float().reshape(k.shape[1], -1, q.shape[1])  # (kv_heads, group, dim)
    s = torch.matmul(qg, k.float().permute(1, 2, 0)) * scale  # (kv_heads, group, n)
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    m = s.amax(dim=-1)  # (kv_heads, group)
    p = torch.exp(s - _finite_max(m)[..., None]) * c  # (kv_heads, group, n)
    acc = torch.matmul(p, v.float().transpose(0, 1))  # (kv_heads, group, dim_v)
    return m.reshape(-1), p.sum(dim=-1).reshape(-1), acc.reshape(q.shape[0], -1)


def _combine(
    partials: list[tuple[Tensor, Tensor, Tensor]], c: float, dim_v: int, sink: Tensor
) -> tuple[Tensor, Tensor]:
    """out (q_heads, dim_v) and lse (q_heads,) of one row."""
    l, acc = torch.zeros_like(sink), torch.zeros((len(sink), dim_v), device=sink.device)
    if not partials:
        return acc, torch.full_like(sink, -math.inf)
    m = torch.stack([part[0] for part in partials]).amax(dim=0)  # (q_heads,)
    reference = _finite_max(torch.maximum(m, sink))
    for part_m, part_l, part_acc in partials:
        w = torch.exp(part_m - reference)  # (q_heads,)
        l = l + w * part_l
        acc = acc + w[:, None] * part_acc
    total = l + c * torch.exp(sink - reference)
    out = acc / torch.where(total == 0, 1.0, total)[:, None]
    return out, torch.where(l == 0, -math.inf, reference + torch.log(l / c))


def _finite_max(m: Tensor) -> Tensor:
    return torch.where(m == -math.inf, 0.0, m)


def _runs(lengths: Tensor, *, alone: bool) -> list[tuple[int, int, int]]:
    """(start, stop, length) of neighbouring sequences of one length: one call can take them."""
    runs: list[tuple[int, int, int]] = []
    for b, n in enumerate(int(n) for n in lengths):
        if runs and runs[-1][2] == n and not alone:
            runs[-1] = (runs[-1][0], b + 1, n)
        else:
            runs.append((b, b + 1, n))
    return runs


def _stored(cache: Tensor, start: int, stop: int, n: int, *, page_table: Tensor | None) -> Tensor:
    """The first n tokens of the sequences start to stop: (stop - start, n, kv_heads, dim)."""
    if page_table is None:
        return cache[start:stop, :n]
    pages = page_table[start, : math.ceil(n / cache.shape[1])]
    return cache[pages].reshape(1, -1, *cache.shape[2:])[:, :n]
