"""Bugs seeded into our own NumPy kernel: each replaces one piece of its source.

`failure` names what the bug stands for; where a public report had it, the report. A bug is written
as source, so that what is tested is our kernel with one thing wrong and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exonerate.kernels import reference


@dataclass(frozen=True, slots=True)
class SeededBug:
    """One bug: the properties that it breaks, and what in the source becomes what."""

    name: str
    failure: str
    breaks: Sequence[str]
    old: str
    new: str

    def source(self) -> str:
        """The kernel with the bug in it."""
        whole = inspect.getsource(reference)
        assert whole.count(self.old) == 1, f"{self.name}: its place in the kernel is gone"
        return whole.replace(self.old, self.new).replace(KEEPS_AFTER, KEEPS_AFTER + KEEPS)

    def write(self, folder: Path) -> str:
        """Write the kernel with the bug as a module and return the target that names it."""
        path = folder / f"bug_{self.name}.py"
        path.write_text(self.source())
        return f"{path}:attend"


KEEPS_AFTER = "Float32Array = NDArray[np.float32]\n"
KEEPS = """
CALLS: list[int] = []
PLANS: dict[object, NDArray[np.int64]] = {}
SCRATCH: dict[object, list[Partial]] = {}
ANSWERS: dict[object, Array] = {}


def beyond(part: Partial, v_past: Array) -> Partial:
    poison = np.where(np.isnan(np.resize(v_past, part.acc.shape)), np.nan, 0)
    return Partial(part.m, part.l, part.acc + poison)
"""
"""What some bugs keep between calls, or call."""

CUT = "for start, stop in ranges(n, rule.chunk(n, count))\n        ]\n"
"""Where the partials of a row have been made."""

SLOTS = """\
        empty = np.full(q_heads, -np.inf, np.float32), np.zeros(q_heads, np.float32)
        partials += [
            Partial(*empty, np.empty((q_heads, v.shape[3]), np.float32))
            for _ in range(count - len(partials))
        ]
"""
"""A scratch of one slot a split, in which an empty split's numerator is not written."""

ROW = "        row, lse[b] = combine("

BUGS = (
    SeededBug(
        "no_guard_in_combine",
        "all partials empty: -inf - -inf (flashinfer #4051)",
        ["accurate"],
        "reference = finite_max(np.maximum(m, sinks))",
        "reference = np.maximum(m, sinks)",
    ),
    SeededBug(
        "no_guard_in_split",
        "a split of masked scores: -inf - -inf (vllm #28181)",
        ["accurate", "same_class"],
        "np.exp(s - finite_max(m)[..., None])",
        "np.exp(s - m[..., None])",
    ),
    SeededBug(
        "zero_times_nan",
        "an empty slot has weight 0 and holds NaN (pegainfer #21)",
        ["accurate"],
        CUT,
        CUT + SLOTS,
    ),
    SeededBug(
        "uninitialised_maximum",
        "an empty slot's m is whatever memory held (tilelang #328)",
        ["accurate", "deterministic"],
        CUT,
        CUT
        + SLOTS.replace("np.full(q_heads, -np.inf, np.float32)", "np.empty(q_heads, np.float32)"),
    ),
    SeededBug(
        "lse_in_place_of_m_l",
        "partials normalised and carried with m + log(l)",
        ["accurate"],
        ROW,
        "        nothing = [np.where(p.l == 0, headroom(n), p.l) for p in partials]\n"
        "        partials = [\n"
        "            Partial(\n"
        "                (p.m + np.log(l / headroom(n))).astype(np.float32),\n"
        "                np.full(q_heads, headroom(n)),\n"
        "                p.acc / l[:, None] * headroom(n),\n"
        "            )\n"
        "            for p, l in zip(partials, nothing, strict=True)\n"
        "        ]\n" + ROW,
    ),
    SeededBug(
        "floor_of_chunk",
        "chunk = length // splits leaves the last tokens out",
        ["accurate"],
        "ranges(n, rule.chunk(n, count))",
        "ranges(n, max(n // count, 1))[:count]",
    ),
    SeededBug(
        "overlapping_cuts",
        "a token on a cut counts in both splits",
        ["accurate"],
        "k_row[start:stop], v_row[start:stop]",
        "k_row[start:stop + 1], v_row[start:stop + 1]",
    ),
    SeededBug(
        "first_token_of_split_skipped",
        "off by one at the start of every split but the first",
        ["accurate"],
        "k_row[start:stop], v_row[start:stop]",
        "k_row[start + (start > 0 and stop - start > 1):stop], "
        "v_row[start + (start > 0 and stop - start > 1):stop]",
    ),
    SeededBug(
        "combine_ranges_differ",
        "the combine believes in fewer splits than were made (chunks rounded up to 32)",
        ["accurate"],
        "combine(partials,",
        "combine(partials[: max(1, -(-n // 32))],",
    ),
    SeededBug(
        "splits_capped",
        "more than 8 splits asked for: the partials past the eighth are dropped",
        ["accurate"],
        "combine(partials,",
        "combine(partials[:8],",
    ),
    SeededBug(
        "strides_of_k_for_v",
        "prefix strides used for the suffix (vllm PR 15)",
        ["accurate"],
        "    if page_table is None:\n        check_shapes",
        "    if page_table is None and v.shape == k.shape:\n"
        "        v = np.lib.stride_tricks.as_strided(v, v.shape, k.strides)\n"
        "    if page_table is None:\n        check_shapes",
    ),
    SeededBug(
        "int32_offsets",
        "the offset of a sequence wraps at 2**31 (llama.cpp #24912)",
        ["accurate"],
        "    return kv[b, :n]\n",
        "    step = kv.strides[0] // kv.itemsize\n"
        "    return kv[b if b * step < 2**31 else 0, :n]\n",
    ),
    SeededBug(
        "reads_past_length",
        "the tail of the last tile is not masked",
        ["accurate", "reads_within_length"],
        "        n = int(lengths[b])\n",
        "        n = int(lengths[b])\n        n = min(-(-n // 16) * 16, k.shape[1])\n",
    ),
    SeededBug(
        "masked_weight_times_poison",
        "the weight past the length is 0, but what it multiplies is NaN",
        ["accurate", "reads_within_length"],
        "partial(q[b], k_row[start:stop], v_row[start:stop], headroom(n), score),",
        "beyond(partial(q[b], k_row[start:stop], v_row[start:stop], headroom(n), score), "
        "v[b, min(n, v.shape[1] - 1)] if page_table is None else v_row[0]),",
    ),
    SeededBug(
        "writes_past_output",
        "one element too many is written (FlagGems #5235)",
        ["writes_within_output"],
        "    return answer, lse\n\n\ndef headroom",
        "    if out is not None:\n"
        "        size, item = (v.shape[3] + 1,), (answer.itemsize,)\n"
        "        past = np.lib.stride_tricks.as_strided(answer[-1, -1], size, item)\n"
        "        past[-1] = 0\n"
        "    return answer, lse\n\n\ndef headroom",
    ),
    SeededBug(
        "assumes_contiguous_output",
        "an output with strides is written as if it had none",
        ["accurate", "writes_within_output"],
        "    return answer, lse\n\n\ndef headroom",
        "    if out is not None:\n"
        "        done = answer.copy()\n"
        "        flat = np.lib.stride_tricks.as_strided(out, (out.size,), (out.itemsize,))\n"
        "        out[...] = np.nan\n"
        "        flat[:] = done.reshape(-1)\n"
        "    return answer, lse\n\n\ndef headroom",
    ),
    SeededBug(
        "scales_queries_in_place",
        "the caller's q is multiplied by the scale",
        ["writes_within_output"],
        "    for b in range(batch):\n        n =",
        "    q *= q.dtype.type(1.0009765625)\n    for b in range(batch):\n        n =",
    ),
    SeededBug(
        "order_of_arrival",
        "partials are added in the order in which they happen to be done",
        ["deterministic"],
        ROW,
        "        CALLS.append(0)\n"
        "        partials = partials[len(CALLS) % 3 :] + partials[: len(CALLS) % 3]\n" + ROW,
    ),
    SeededBug(
        "plan_kept_by_shape",
        "the plan of the first call serves every call of its shape (flashinfer #4002)",
        ["accurate"],
        "    batch, q_heads, _ = q.shape\n",
        "    lengths = PLANS.setdefault((q.shape, k.shape, str(q.dtype)), lengths.copy())\n"
        "    batch, q_heads, _ = q.shape\n",
    ),
    SeededBug(
        "scratch_kept",
        "an empty split's slot still holds the call before",
        ["deterministic"],
        CUT,
        CUT + "        kept = SCRATCH.setdefault((q.shape, n, count), list(partials))\n"
        "        partials += kept[: count - len(partials)]\n"
        "        filled = len(ranges(n, rule.chunk(n, count)))\n"
        "        SCRATCH[q.shape, n, count] = list(partials[:filled])\n",
    ),
    SeededBug(
        "partials_in_bf16",
        "partials said to be float32 pass through bfloat16",
        ["accurate"],
        '    if dtype == "fp32":\n        return part\n',
        '    dtype = "bf16"\n',
    ),
    SeededBug(
        "sum_in_half_precision",
        "weights of float16 inputs are summed in float16, which stops growing at 2048",
        ["accurate"],
        "        l = np.sum(p, axis=-1)  # (kv_heads, group)\n",
        "        l = np.cumsum(p / c, axis=-1, dtype=q.dtype)[..., -1] * c\n",
    ),
    SeededBug(
        "wrong_head_mapping",
        "query head h uses KV head h % kv_heads",
        ["accurate"],
        "qg = q.astype(np.float32).reshape(kv_heads, -1, dim)",
        "qg = q.astype(np.float32).reshape(-1, kv_heads, dim).transpose(1, 0, 2)",
    ),
    SeededBug(
        "one_tile_of_heads",
        "of more than 16 query heads a KV head the rest is not computed",
        ["accurate"],
        "        answer[b] = round_to(row",
        "        row[16:] = np.nan\n        answer[b] = round_to(row",
    ),
    SeededBug(
        "path_above_64",
        "another path from 65 sequences on, with a bug of its own (pegainfer #623)",
        ["accurate"],
        "    return answer, lse\n\n\ndef headroom",
        "    if batch > 64:\n        answer[64:] = answer[:-64]\n"
        "    return answer, lse\n\n\ndef headroom",
    ),
    SeededBug(
        "no_tokens_is_zero_by_zero",
        "a padding row answers 0/0 (vllm #57094)",
        ["accurate"],
        "acc / one_for_zero(total)[:, None]",
        "acc / total[:, None]",
    ),
    SeededBug(
        "padding_row_poisons_batch",
        "a NaN in a padding row spreads through a scale of the whole batch (vllm #57017)",
        ["accurate"],
        "    return answer, lse\n\n\ndef headroom",
        "    if min(lengths) == 0:\n        answer *= np.float32(np.nan)\n"
        "    return answer, lse\n\n\ndef headroom",
    ),
    SeededBug(
        "finite_lse_of_nothing",
        "a masked row's log-sum-exp is a number (flashinfer #4452)",
        ["accurate"],
        "np.where(l == 0, np.float32(-np.inf),",
        "np.where(l == 0, np.float32(-49994),",
    ),
    SeededBug(
        "infinite_lse_of_empty_split",
        "an empty split says +inf and the combine takes it for a maximum (vllm #15492)",
        ["accurate"],
        CUT,
        CUT + SLOTS.replace("-np.inf", "np.inf").replace("np.empty", "np.zeros"),
    ),
    SeededBug(
        "lse_in_base_two",
        "log-sum-exp in base 2 where natural was asked for",
        ["accurate"],
        "reference + np.log(l / c))",
        "(reference + np.log(l / c)) * np.float32(1.4426950408889634))",
    ),
    SeededBug(
        "tokens_counted_in_16_bits",
        "lengths wrap at 65536",
        ["accurate"],
        "        n = int(lengths[b])\n",
        "        n = int(lengths[b]) % 65536\n",
    ),
    SeededBug(
        "last_page_forgotten",
        "pages are counted by length // page_size",
        ["accurate"],
        "page_table[b, : math.ceil(n / page_size)]",
        "page_table[b, : n // page_size] if n >= page_size else page_table[b, :1]",
    ),
    SeededBug(
        "sink_in_every_split",
        "the sink is added once a split",
        ["accurate"],
        "total = l + c * np.exp(sinks - reference)",
        "total = l + len(partials) * c * np.exp(sinks - reference)",
    ),
    SeededBug(
        "no_maximum_subtracted",
        "exp of the bare score overflows",
        ["accurate"],
        "        m = np.max(s, axis=-1)  # (kv_heads, group)\n",
        "        m = np.zeros(s.shape[:2], np.float32)\n",
    ),
    SeededBug(
        "overflow_decided_by_the_cut",
        "huge values of negligible weight overflow in a split of their own, then 0 * inf",
        ["same_class"],
        "return np.float32(2.0 ** -math.ceil(math.log2(max(length, 1))))",
        "return np.float32(1)",
    ),
    SeededBug(
        "weights_without_maximum",
        "the combine weighs by l alone",
        ["accurate"],
        "w = np.exp(part.m - reference)",
        "w = np.exp(0 * part.m)",
    ),
    SeededBug(
        "scores_in_tf32",
        "float32 queries lose 13 bits before the product",
        ["accurate"],
        "qg = q.astype(np.float32)",
        'qg = round_to(q, "fp16")',
    ),
    SeededBug(
        "raises_on_empty_split",
        "more splits than tokens is not foreseen",
        ["answers"],
        CUT,
        CUT + "        partials[count - 1]\n",
    ),
    SeededBug(
        "transposed_answer",
        "the answer is (batch, dim, heads)",
        ["answers"],
        "    return answer, lse\n\n\ndef headroom",
        "    return answer.transpose(0, 2, 1).copy(), lse\n\n\ndef headroom",
    ),
    SeededBug(
        "finite_first_maximum",
        "the running maximum starts at -10000, above scores of -1e8",
        ["accurate"],
        "        m = np.max(s, axis=-1)  # (kv_heads, group)\n",
        "        m = np.maximum(np.max(s, axis=-1), np.float32(-10000))\n",
    ),
    SeededBug(
        "one_maximum_for_the_batch",
        "heads far below the highest score of all lose their weights",
        ["accurate"],
        "        m = np.maximum(m, part.m)\n",
        "        m = np.maximum(m, np.max(part.m))\n",
    ),
    SeededBug(
        "one_answer_for_all_calls",
        "the array returned is written again by the next call",
        ["writes_within_output"],
        "    return answer, lse\n\n\ndef headroom",
        "    if out is None:\n"
        "        answer_kept = ANSWERS.setdefault((answer.shape, str(answer.dtype)), answer)\n"
        "        answer_kept[...] = answer\n"
        "        answer = answer_kept\n"
        "    return answer, lse\n\n\ndef headroom",
    ),
)
