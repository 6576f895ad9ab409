"""Split-K decode attention for a GPU: two Triton kernels, to be read beside `reference`.

    split     one block per (sequence, KV head, tile of its query heads, split i)
              m_i = max_t s_t     l_i = sum_t c 2^(s_t - m_i)     acc_i = sum_t c 2^(s_t - m_i) v_t
    combine   one block per (sequence, query head)
              m = max_i m_i       out = sum_i 2^(m_i - m) acc_i / sum_i 2^(m_i - m) l_i

Scores are kept in base 2 (s = scale * log2(e) * q . k), because the hardware's exponential is.
Inside a split the tokens come in tiles, and (m, l, acc) is rescaled as m grows, as in
FlashAttention (Dao et al. 2022, algorithm 1). What differs from common practice is explained in
`reference`: (m, l) and not a log-sum-exp; the headroom c; a split is empty by its range and then
writes nothing, so the combine derives the same range and never loads what was not written.

The largest power of two that fits is the main part of a head's dim, the remainder the rest:
576 = 512 + 64, 80 = 64 + 16. A latent cache, whose values are the main part of its keys, is read
once.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def split_range(length, splits, split_size, i):
    """The tokens [start, stop) of split i; empty when start >= stop. As in `split_rule`."""
    chunk = tl.where(split_size > 0, split_size, (length + splits - 1) // splits)
    chunk = tl.maximum(chunk, 1)
    start = i * chunk
    return start, tl.minimum(start + chunk, length), chunk


@triton.jit
def headroom(length, NEEDED: tl.constexpr):
    """c: 2**-ceil(log2(length)), so that no sum of weights exceeds 1.

    float16 values cannot overflow a float32 sum, and weights as small as c would be denormal there.
    """
    c = 1.0
    if NEEDED:
        c = tl.exp2(-tl.ceil(tl.log2(tl.maximum(length, 1).to(tl.float32))))
    return c


@triton.jit
def load_rows(row_ptr, dims, is_row, DIM: tl.constexpr):
    """Rows of numbers (rows, dims), zero where there is no row or no dim.

    What is not a row is not loaded: it may hold NaN, and 0 * NaN is NaN.
    """
    mask = is_row[:, None] & (dims < DIM)[None, :]
    return tl.load(row_ptr[:, None] + dims[None, :], mask=mask, other=0.0)


@triton.jit
def token_place(t, is_token, b, pages_ptr, pages_stride, PAGE_SIZE: tl.constexpr):
    """Where token t of sequence b lies: (sequence or page, place in it), in 64 bits."""
    outer, inner = b + tl.zeros_like(t), t
    if PAGE_SIZE > 0:
        outer = tl.load(pages_ptr + b * pages_stride + t // PAGE_SIZE, mask=is_token, other=0)
        inner = t % PAGE_SIZE
    return outer.to(tl.int64), inner.to(tl.int64)


@triton.jit
def capped(s, softcap, SOFTCAP: tl.constexpr):
    """softcap * tanh(s / softcap), with tanh(x) = 1 - 2 / (e^2x + 1)."""
    if SOFTCAP:
        s = softcap * (1.0 - 2.0 / (tl.exp2(s / softcap * (2.0 * LOG2_E)) + 1.0))
    return s


@triton.jit
def absorb(m, l, acc, s, v, c):
    """(m, l, acc) after one more tile: s (heads, tokens) in base 2, v (tokens, dim_v)."""
    m_new = tl.maximum(m, tl.max(s, 1))  # (heads,)
    shift = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
    alpha = tl.exp2(m - shift)  # (heads,)
    p = tl.exp2(s - shift[:, None]) * c  # (heads, tokens)
    l = l * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    return m_new, l, acc


@triton.jit
def split_kernel(
    q_ptr,  # (batch, q_heads, dim)
    k_ptr,  # (batch, tokens, kv_heads, dim) or (pages, page_size, kv_heads, dim)
    v_ptr,  # the same with dim_v
    pages_ptr,  # (batch, pages of a sequence) or unused
    lengths_ptr,  # (batch,)
    m_ptr,  # (batch, q_heads, splits) float32
    l_ptr,  # (batch, q_heads, splits) float32
    acc_ptr,  # (batch, q_heads, splits, dim_v) float32, float16 or bfloat16
    q_batch_stride,
    q_head_stride,
    k_batch_stride,
    k_token_stride,
    k_head_stride,
    v_batch_stride,
    v_token_stride,
    v_head_stride,
    pages_stride,
    scale,
    softcap,
    splits,
    split_size,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,  # query heads a KV head
    DIM: tl.constexpr,
    DIM_MAIN: tl.constexpr,  # the largest power of two in it, at least the 16 of a matrix product
    DIM_REST: tl.constexpr,  # the rest; 0 when the dim is a power of two
    DIM_V: tl.constexpr,
    BLOCK_REST: tl.constexpr,  # powers of two that hold the dims
    BLOCK_V: tl.constexpr,
    BLOCK_H: tl.constexpr,  # query heads a block, at least the 16 rows of a matrix instruction
    BLOCK_N: tl.constexpr,  # tokens a tile
    PAGE_SIZE: tl.constexpr,  # 0: contiguous
    SOFTCAP: tl.constexpr,
    HEADROOM: tl.constexpr,
    NARROW: tl.constexpr,  # partials in 16 bits: acc / l is stored in place of acc
    LATENT: tl.constexpr,  # v is the main part of k
):
    """(m, l, acc) of one split for one tile of query heads."""
    TILES: tl.constexpr = (GROUP + BLOCK_H - 1) // BLOCK_H
    block = tl.program_id(0)
    i = tl.program_id(1)
    b = (block // (KV_HEADS * TILES)).to(tl.int64)  # offsets of a large cache pass int32
    kv_head = ((block // TILES) % KV_HEADS).to(tl.int64)
    length = tl.load(lengths_ptr + b).to(tl.int32)
    start, stop, _ = split_range(length, splits, split_size, i)
    if start >= stop:
        return

    in_group = (block % TILES) * BLOCK_H + tl.arange(0, BLOCK_H)  # (BLOCK_H,)
    is_head = in_group < GROUP
    head = kv_head * GROUP + in_group
    dims = tl.arange(0, DIM_MAIN)
    rest = DIM_MAIN + tl.arange(0, BLOCK_REST)
    dims_v = tl.arange(0, BLOCK_V)
    q_row = q_ptr + b * q_batch_stride + head * q_head_stride
    q = load_rows(q_row, dims, is_head, DIM)  # (BLOCK_H, DIM_MAIN)
    q_rest = load_rows(q_row, rest, is_head, DIM)  # (BLOCK_H, BLOCK_REST)

    c = headroom(length, HEADROOM)
    m = tl.full([BLOCK_H], float("-inf"), tl.float32)  # (BLOCK_H,)
    l = tl.zeros([BLOCK_H], tl.float32)  # (BLOCK_H,)
    acc = tl.zeros([BLOCK_H, BLOCK_V], tl.float32)  # (BLOCK_H, BLOCK_V)
    for first in range(start, stop, BLOCK_N):
        t = first + tl.arange(0, BLOCK_N)  # (BLOCK_N,)
        is_token = t < stop
        outer, inner = token_place(t, is_token, b, pages_ptr, pages_stride, PAGE_SIZE)
        k_row = k_ptr + outer * k_batch_stride + inner * k_token_stride + kv_head * k_head_stride
        k = load_rows(k_row, dims, is_token, DIM).to(q.dtype)  # (BLOCK_N, DIM_MAIN)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_H, BLOCK_N)
        if DIM_REST > 0:
            k_rest = load_rows(k_row, rest, is_token, DIM).to(q.dtype)
            s += tl.dot(q_rest, tl.trans(k_rest), input_precision="ieee")
        s = capped(s * scale, softcap, SOFTCAP)
        s = tl.where(is_token[None, :], s * LOG2_E, float("-inf"))
        v_row = v_ptr + outer * v_batch_stride + inner * v_token_stride + kv_head * v_head_stride
        v = k if LATENT else load_rows(v_row, dims_v, is_token, DIM_V).to(q.dtype)
        m, l, acc = absorb(m, l, acc, s, v, c)

    row = (b * (KV_HEADS * GROUP) + head) * splits + i  # (BLOCK_H,)
    tl.store(m_ptr + row, m, mask=is_head)
    tl.store(l_ptr + row, l, mask=is_head)
    store_acc(acc_ptr, row, is_head, acc, l, DIM_V, NARROW)


@triton.jit
def store_acc(acc_ptr, row, is_head, acc, l, DIM_V: tl.constexpr, NARROW: tl.constexpr):
    """acc into scratch; acc / l where scratch has 16 bits, see `reference.narrow`."""
    if NARROW:
        acc = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    dims_v = tl.arange(0, acc.shape[1])
    place = acc_ptr + row[:, None] * DIM_V + dims_v[None, :]
    tl.store(
        place, acc.to(acc_ptr.dtype.element_ty), mask=is_head[:, None] & (dims_v < DIM_V)[None, :]
    )


@triton.jit
def combine_kernel(
    m_ptr,  # (batch, q_heads, splits) float32
    l_ptr,  # (batch, q_heads, splits) float32
    acc_ptr,  # (batch, q_heads, splits, dim_v)
    sinks_ptr,  # (q_heads,) or unused
    lengths_ptr,  # (batch,)
    out_ptr,  # (batch, q_heads, dim_v)
    lse_ptr,  # (batch, q_heads) float32
    out_batch_stride,
    out_head_stride,
    splits,
    split_size,
    Q_HEADS: tl.constexpr,
    DIM_V: tl.constexpr,
    BLOCK_V: tl.constexpr,
    BLOCK_S: tl.constexpr,  # splits whose maximum is found at once
    SINKS: tl.constexpr,
    HEADROOM: tl.constexpr,
    NARROW: tl.constexpr,
):
    """out and lse of one query head of one sequence, from its splits in their order."""
    b = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    length = tl.load(lengths_ptr + b).to(tl.int32)
    _, _, chunk = split_range(length, splits, split_size, 0)
    filled = (length + chunk - 1) // chunk  # splits that have tokens, and so wrote something
    row = (b * Q_HEADS + head) * splits
    dims_v = tl.arange(0, BLOCK_V)
    is_dim = dims_v < DIM_V
    sink = float("-inf")
    if SINKS:
        sink = tl.load(sinks_ptr + head).to(tl.float32) * LOG2_E

    m = tl.full([BLOCK_S], float("-inf"), tl.float32)
    for first in range(0, filled, BLOCK_S):
        i = first + tl.arange(0, BLOCK_S)
        m = tl.maximum(m, tl.load(m_ptr + row + i, mask=i < filled, other=float("-inf")))
    top = tl.maximum(tl.max(m, 0), sink)
    shift = tl.where(top == float("-inf"), 0.0, top)

    c = headroom(length, HEADROOM)
    l = 0.0
    acc = tl.zeros([BLOCK_V], tl.float32)
    for i in range(0, filled):
        w = tl.exp2(tl.load(m_ptr + row + i) - shift)
        w_l = w * tl.load(l_ptr + row + i)
        part = tl.load(acc_ptr + (row + i) * DIM_V + dims_v, mask=is_dim, other=0.0)
        if NARROW:
            acc += w_l * part.to(tl.float32)
        else:
            acc += w * part
        l += w_l
    total = l + c * tl.exp2(sink - shift)
    out = acc / tl.where(total == 0.0, 1.0, total)  # no tokens: 0 / 1, not 0 / 0
    lse = tl.where(l == 0.0, float("-inf"), (shift + tl.log2(l / c)) * LN_2)
    tl.store(
        out_ptr + b * out_batch_stride + head * out_head_stride + dims_v,
        out.to(out_ptr.dtype.element_ty),
        mask=is_dim,
    )
    tl.store(lse_ptr + b * Q_HEADS + head, lse)
