"""Split-K decode attention in NumPy, to be read; float32 inside, as on a GPU.

Each split i of a row attends to its own tokens and leaves a partial (m, l, acc):

    m_i   = max_t s_t                        the largest score of the split
    l_i   = sum_t c exp(s_t - m_i)           the softmax denominator, relative to m_i
    acc_i = sum_t c exp(s_t - m_i) v_t       the numerator

The combine brings the partials to one maximum and adds them:

    m   = max_i m_i          w_i = exp(m_i - m)
    out = sum_i w_i acc_i / sum_i w_i l_i
    lse = m + log(sum_i w_i l_i / c)

Why (m, l) is carried and not lse_i = m_i + log(l_i): log(l_i) is at most a few nats, so in float32
it drowns in m_i once scores share a large offset. At an offset of 1e8 all of it is lost.

Why c: p_t <= 1, so a sum of n terms p_t v_t can overflow where the whole row's answer is finite,
and then it depends on the cuts whether that happens. With c = 2**-ceil(log2(length)), a power of
two and so exact, no sum of weights exceeds 1 and nothing overflows that the answer does not.

Why a split is empty by its range and not by m_i = -inf: a split whose every score is -inf still
has values, and a NaN among them reaches the answer at one split (0 * NaN); so it must at many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exonerate.errors import ExonerateError
from exonerate.kernels.attention_input import check_shapes
from exonerate.kernels.number_formats import Array, round_to
from exonerate.kernels.split_rule import SplitRule, ranges

Float32Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Partial:
    """What a split leaves for every query head: m and l (q_heads,), acc (q_heads, dim_v)."""

    m: Float32Array
    l: Float32Array
    acc: Float32Array


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """How q . k becomes a score."""

    scale: float
    softcap: float | None = None


def attend(
    q: Array,
    k: Array,
    v: Array,
    lengths: NDArray[np.int64],
    splits: int,
    *,
    out: Array | None = None,
    page_table: NDArray[np.int64] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
    partial_dtype: str = "fp32",
    rule: SplitRule | None = None,
) -> tuple[Array, Float32Array]:
    """Attention of one query per sequence: out (batch, q_heads, dim_v) and lse (batch, q_heads).

    Args:
        q: (batch, q_heads, dim)
        k: (batch, tokens, kv_heads, dim), or (pages, page_size, kv_heads, dim) with a page table
        v: like k, its last axis may differ
        lengths: (batch,)
        splits: number of splits; a `rule` takes its place
        out: written in place when given
        page_table: (batch, pages of the longest sequence) the page of each stretch of tokens
        softcap: scores become ``softcap * tanh(score / softcap)``
        sinks: (q_heads,) logits that take part in the softmax and have no value
        partial_dtype: format in which acc is kept between the split and the combine
    """
    if page_table is None:
        check_shapes(q.shape, k.shape, v.shape, batch=len(lengths))
    score = ScoreRule(q.shape[2] ** -0.5 if scale is None else scale, softcap)
    rule = SplitRule(num_splits=splits) if rule is None else rule
    if q.dtype not in (np.float32, np.float16):
        raise ExonerateError(f"q is {q.dtype}", "pass float32 or float16")
    batch, q_heads, _ = q.shape
    longest = int(max(lengths, default=0))
    count = rule.splits(base_ctas=batch * k.shape[2], tokens=max(longest, 1))
    answer = np.empty((batch, q_heads, v.shape[3]), q.dtype) if out is None else out
    lse = np.empty((batch, q_heads), np.float32)
    sink_logits = np.full(q_heads, -np.inf, np.float32)
    if sinks is not None:
        sink_logits[:] = sinks
    for b in range(batch):
        n = int(lengths[b])
        k_row, v_row = _row(k, b, n, page_table), _row(v, b, n, page_table)
        partials = [
            narrow(
                partial(q[b], k_row[start:stop], v_row[start:stop], headroom(n), score),
                partial_dtype,
            )
            for start, stop in ranges(n, rule.chunk(n, count))
        ]
        row, lse[b] = combine(partials, headroom(n), v.shape[3], sinks=sink_logits)
        answer[b] = round_to(row, "fp16") if q.dtype == np.float16 else row
    return answer, lse


def headroom(length: int) -> np.float32:
    """c of the formula: a power of two that keeps every sum of weights of a row at most 1."""
    return np.float32(2.0 ** -math.ceil(math.log2(max(length, 1))))


def partial(q: Array, k: Array, v: Array, c: np.float32, rule: ScoreRule) -> Partial:
    """(m, l, acc) of one split: q (q_heads, dim), k (n, kv_heads, dim), v (n, kv_heads, dim_v)."""
    _, kv_heads, dim = k.shape
    qg = q.astype(np.float32).reshape(kv_heads, -1, dim)  # (kv_heads, group, dim)
    kt = k.astype(np.float32).transpose(1, 2, 0)  # (kv_heads, dim, n)
    vt = v.astype(np.float32).transpose(1, 0, 2)  # (kv_heads, n, dim_v)
    with np.errstate(all="ignore"):
        s = (qg @ kt) * np.float32(rule.scale)  # (kv_heads, group, n)
        if rule.softcap is not None:
            s = np.float32(rule.softcap) * np.tanh(s / np.float32(rule.softcap))
        m = np.max(s, axis=-1)  # (kv_heads, group)
        p = np.exp(s - finite_max(m)[..., None]) * c  # (kv_heads, group, n)
        l = np.sum(p, axis=-1)  # (kv_heads, group)
        acc = p @ vt  # (kv_heads, group, dim_v)
    return Partial(m.reshape(-1), l.reshape(-1), acc.reshape(q.shape[0], -1))


def combine(
    partials: list[Partial], c: np.float32, dim_v: int, *, sinks: Float32Array
) -> tuple[Float32Array, Float32Array]:
    """The row's out (q_heads, dim_v) and lse (q_heads,), sinks not counted in lse."""
    q_heads = len(sinks)
    m = np.full(q_heads, -np.inf, np.float32)
    for part in partials:
        m = np.maximum(m, part.m)
    with np.errstate(all="ignore"):
        l = np.zeros(q_heads, np.float32)
        acc = np.zeros((q_heads, dim_v), np.float32)
        reference = finite_max(np.maximum(m, sinks))
        for part in partials:
            w = np.exp(part.m - reference)  # (q_heads,)
            l += w * part.l
            acc += w[:, None] * part.acc
        total = l + c * np.exp(sinks - reference)  # (q_heads,)
        # A row without tokens has total = 0 and acc = 0: it answers 0, not 0/0.
        out = acc / one_for_zero(total)[:, None]  # (q_heads, dim_v)
        lse = np.where(l == 0, np.float32(-np.inf), reference + np.log(l / c))
    return out, lse.astype(np.float32)


def finite_max(m: Float32Array) -> Float32Array:
    """m, or 0 where it is -inf: exp(-inf - 0) is the 0 that exp(-inf - -inf) = NaN is not."""
    return np.where(m == -np.inf, np.float32(0), m)


def one_for_zero(total: Float32Array) -> Float32Array:
    """A denominator that leaves the numerator 0 of a row without weight as it is."""
    return np.where(total == 0, np.float32(1), total)


def narrow(part: Partial, dtype: str) -> Partial:
    """The partial as it comes back from scratch memory of that dtype; m and l stay float32.

    What is stored is acc / l, an average of values: acc itself would fall below the normal range
    of float16 for a split of small weight.
    """
    if dtype == "fp32":
        return part
    divisor = one_for_zero(part.l)[:, None]
    return Partial(part.m, part.l, round_to(part.acc / divisor, dtype) * divisor)


def _row(kv: Array, b: int, n: int, page_table: NDArray[np.int64] | None) -> Array:
    """The first n tokens of sequence b: (n, kv_heads, dim)."""
    if page_table is None:
        return kv[b, :n]
    page_size = kv.shape[1]
    pages = page_table[b, : math.ceil(n / page_size)]
    return kv[pages].reshape(-1, *kv.shape[2:])[:n]
