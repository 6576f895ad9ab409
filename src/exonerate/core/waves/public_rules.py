"""The rules by which public engines choose splits, restated from reading their sources.

Each restates what the rule decides, not the engine's code. Where the engine aims at its
processor count or grid limit, that place is the knob (`Launch.budget`), so that a target of
another size can be tried in it. The commit read is named with each.
"""

from __future__ import annotations

import math
from fractions import Fraction

from exonerate.core.waves.partition import (
    Batch,
    Launch,
    Partition,
    Run,
    balanced,
    split_evenly,
)
from exonerate.core.waves.rules import (
    BATCH_DEPENDENT,
    COUNT_FIXED,
    SIZE_FIXED,
    Rule,
    round_half_up,
    same_count,
)

KV_BLOCK = 64


def _blocks(tokens: int, block: int) -> int:
    return -(-tokens // block)


def sglang_triton(batch: Batch, launch: Launch) -> Partition:
    """Splits grow with log2 of the longest request; the whole batch decides for each request."""
    cap = min(8, launch.splits_max)
    longest = max(batch.lengths)
    shortest = max(1, min(batch.lengths))
    if longest < 1.25 * shortest:
        shortest = longest
    by_raggedness = max(1, min(_blocks(longest, max(1, shortest)), cap))
    processors = launch.budget * max(math.log2(max(longest, 1) / KV_BLOCK), 1.0)
    by_processors = max(1, min(math.ceil(processors / batch.base), cap))
    chunks = (_blocks(longest, by_raggedness), _blocks(longest, by_processors))
    return split_evenly(
        batch, [max(_blocks(tokens, max(1, chunk)) for chunk in chunks) for tokens in batch.lengths]
    )


def sglang_gfx950_mla(batch: Batch, launch: Launch) -> Partition:
    """floor(budget / CTAs before splitting), on purpose: never over the wave."""
    return same_count(batch, min(launch.budget // batch.base, launch.splits_max))


def sglang_deterministic(batch: Batch, _launch: Launch) -> Partition:
    """A split every 256 tokens."""
    return split_evenly(batch, [_blocks(tokens, 256) for tokens in batch.lengths])


def vllm_triton_mla(batch: Batch, _launch: Launch) -> Partition:
    """Four splits, always."""
    return same_count(batch, 4)


def vllm_unified(batch: Batch, _launch: Launch) -> Partition:
    """Sixteen segments for small batches, none above 128 / KV heads requests."""
    return same_count(batch, 16 if len(batch.lengths) <= 128 // batch.units else 1)


def flashmla(batch: Batch, launch: Launch) -> Partition:
    """Persistent parts of equal payload: a part takes requests until it is full and cuts the last.

    Payload is in blocks of 64 tokens, with five more for each request (or piece) that is begun.
    """
    blocks = [_blocks(tokens, KV_BLOCK) for tokens in batch.lengths]
    parts = max(1, launch.budget // batch.units)
    payload = _blocks(sum(blocks) + len(blocks) * _FLASHMLA_START, parts) + _FLASHMLA_START
    splits = [0] * len(blocks)
    runs: list[Run] = []
    request, done = 0, 0
    while request < len(blocks):
        room, work = payload, 0
        while request < len(blocks) and room > _FLASHMLA_START:
            taken = min(blocks[request] - done, room - _FLASHMLA_START)
            work += _tokens_in(batch.lengths[request], done, taken)
            splits[request] += 1
            room -= taken + _FLASHMLA_START
            done += taken
            if done == blocks[request]:
                request, done = request + 1, 0
        runs.append(Run(float(work), batch.units))
    return Partition(tuple(splits), tuple(runs))


# Blocks that its scheduler charges for starting a piece (fixed_overhead_num_blocks).
_FLASHMLA_START = 5


def _tokens_in(tokens: int, first_block: int, blocks: int) -> int:
    """Tokens in these blocks; the last block of a request may be a part of one."""
    return min(tokens, (first_block + blocks) * KV_BLOCK) - min(tokens, first_block * KV_BLOCK)


def flashinfer_chunk(batch: Batch, launch: Launch) -> Partition:
    """The smallest KV chunk with which the grid still fits its limit."""
    low, high = 1, max(1, max(_blocks(tokens, batch.tile) for tokens in batch.lengths))
    while low < high:
        middle = (low + high) // 2
        if _grid(batch, middle) <= launch.budget:
            high = middle
        else:
            low = middle + 1
    return split_evenly(
        batch, [_blocks(_blocks(tokens, batch.tile), low) for tokens in batch.lengths]
    )


def _grid(batch: Batch, chunk_tiles: int) -> int:
    chunks = (max(1, _blocks(_blocks(t, batch.tile), chunk_tiles)) for t in batch.lengths)
    return sum(chunks) * batch.units


def flashinfer_sm120_mla(batch: Batch, launch: Launch) -> Partition:
    """At most three waves, the fullest last wave, larger chunks on a tie."""
    blocks = max(1, max(_blocks(tokens, KV_BLOCK) for tokens in batch.lengths))
    best: tuple[Fraction, int] | None = None
    for per_cta in range(blocks, 0, -1):
        waves = Fraction(batch.base * _blocks(blocks, per_cta), launch.budget)
        waste = math.ceil(waves) - waves
        if math.ceil(waves) <= 3 and (best is None or waste < best[0]):
            best = (waste, per_cta)
    per_cta = best[1] if best else blocks
    return split_evenly(
        batch, [_blocks(_blocks(tokens, KV_BLOCK), per_cta) for tokens in batch.lengths]
    )


def flash_attention_2(batch: Batch, launch: Launch) -> Partition:
    """The fewest splits whose last wave is within 85 % of the fullest possible."""
    return _fullest_wave(batch, launch, blocks_unsplit=0)


def flash_attention_3(batch: Batch, launch: Launch) -> Partition:
    """As version 2, but four KV blocks or fewer stay unsplit."""
    return _fullest_wave(batch, launch, blocks_unsplit=4)


def _fullest_wave(batch: Batch, launch: Launch, *, blocks_unsplit: int) -> Partition:
    blocks = max(_blocks(tokens, KV_BLOCK) for tokens in batch.lengths)
    if batch.base >= 0.8 * launch.budget or blocks <= blocks_unsplit:
        return same_count(batch, 1)
    efficiency = {}
    for splits in range(1, min(128, launch.splits_max, blocks) + 1):
        # A count that leaves the blocks per split as they were only adds empty splits.
        if splits == 1 or _blocks(blocks, splits) != _blocks(blocks, splits - 1):
            waves = batch.base * splits / launch.budget
            efficiency[splits] = waves / math.ceil(waves)
    enough = 0.85 * max(efficiency.values(), default=1.0)
    return same_count(batch, next((s for s, e in efficiency.items() if e >= enough), 1))


def flash_attention_3_varlen(batch: Batch, launch: Launch) -> Partition:
    """Blocks per SM from the total of the batch, 10 % spare; each request by its own blocks."""
    blocks = [_blocks(tokens, KV_BLOCK) for tokens in batch.lengths]
    per_sm = max(1, math.ceil(1.1 * sum(blocks) * batch.units / launch.budget))
    cap = min(128, launch.splits_max)
    return split_evenly(batch, [min(cap, _blocks(count, per_sm)) for count in blocks])


def flash_attention_4(batch: Batch, launch: Launch) -> Partition:
    """floor(budget / CTAs before splitting): never more than one wave."""
    blocks = max(_blocks(tokens, KV_BLOCK) for tokens in batch.lengths)
    if blocks <= 4:
        return same_count(batch, 1)
    return same_count(batch, min(launch.budget // batch.base, 128, blocks, launch.splits_max))


def tensorrt_llm_xqa(batch: Batch, launch: Launch) -> Partition:
    """History / 512, held down by a square root and by the budget, rounded down."""
    wanted = max(1, max(batch.lengths) // 512)
    wanted = min(wanted, round_half_up(Fraction(math.sqrt(8 * wanted))))
    return same_count(batch, min(wanted, launch.budget // batch.base, launch.splits_max))


def llama_cpp_stream_k(batch: Batch, launch: Launch) -> Partition:
    """Persistent blocks; a whole number per output tile where that loses 5 % or less."""
    tiles = sum(_blocks(tokens, KV_BLOCK) for tokens in batch.lengths) * batch.units
    blocks = max(1, min(launch.budget, tiles))
    whole = blocks // batch.base * batch.base
    if whole and whole >= 0.95 * blocks:
        blocks = whole
    return balanced(batch, max(1, blocks // batch.units))


def llama_cpp_parallel(batch: Batch, launch: Launch) -> Partition:
    """The best last wave in whole per cent; stops at 95 % before taking another wave."""
    best_splits, best_percent, best_waves = 1, 0, 0
    blocks = max(_blocks(tokens, KV_BLOCK) for tokens in batch.lengths)
    for splits in range(1, max(1, min(blocks, launch.splits_max)) + 1):
        ctas = batch.base * splits
        waves = _blocks(ctas, launch.budget)
        percent = 100 * ctas // (waves * launch.budget)
        if best_percent >= 95 and waves > best_waves:
            break
        if percent > best_percent:
            best_splits, best_percent, best_waves = splits, percent, waves
    return same_count(batch, best_splits)


def executorch(batch: Batch, launch: Launch) -> Partition:
    """16/9 waves in whole numbers, at most 128 splits."""
    wanted = 16 * launch.budget // (9 * batch.base)
    return same_count(batch, min(wanted, 128, launch.splits_max))


_SMS = "the number of SMs that it reads from the device"
_GRID = "the grid limit that it derives from SMs and occupancy"

PUBLIC_RULES: tuple[Rule, ...] = (
    Rule("sglang_triton", _SMS, BATCH_DEPENDENT, "SGLang metadata.py, 1a366c6c", sglang_triton),
    Rule(
        "sglang_gfx950_mla",
        "the budget, CUs x 4 / warps",
        BATCH_DEPENDENT,
        "SGLang decode_attention.py, 144eb6e4",
        sglang_gfx950_mla,
    ),
    Rule(
        "sglang_deterministic",
        "",
        SIZE_FIXED,
        "SGLang deterministic mode, Triton split tile size",
        sglang_deterministic,
    ),
    Rule("vllm_triton_mla", "", COUNT_FIXED, "vLLM triton_mla.py, 0155494b", vllm_triton_mla),
    Rule("vllm_unified", "", BATCH_DEPENDENT, "vLLM Triton unified attention", vllm_unified),
    Rule("flashmla", _SMS, BATCH_DEPENDENT, "FlashMLA sparse_decode.h, 9241ae3e", flashmla),
    Rule(
        "flashinfer_chunk",
        _GRID,
        BATCH_DEPENDENT,
        "FlashInfer scheduler.cuh, fb28d724",
        flashinfer_chunk,
    ),
    Rule(
        "flashinfer_sm120_mla",
        _SMS,
        BATCH_DEPENDENT,
        "FlashInfer sparse_mla_sm120_decode_dsv4.cu",
        flashinfer_sm120_mla,
    ),
    Rule(
        "flash_attention_2",
        "SMs x 2",
        BATCH_DEPENDENT,
        "FlashAttention flash_api.cpp",
        flash_attention_2,
    ),
    Rule(
        "flash_attention_3", _SMS, BATCH_DEPENDENT, "FlashAttention heuristics.h", flash_attention_3
    ),
    Rule(
        "flash_attention_3_varlen",
        _SMS,
        BATCH_DEPENDENT,
        "FlashAttention flash_prepare_scheduler.cu",
        flash_attention_3_varlen,
    ),
    Rule(
        "flash_attention_4",
        _SMS,
        BATCH_DEPENDENT,
        "FlashAttention cute/interface.py, 0251105a",
        flash_attention_4,
    ),
    Rule(
        "tensorrt_llm_xqa",
        "waves x SMs that it aims at",
        BATCH_DEPENDENT,
        "TensorRT-LLM computeMultiBlockCount",
        tensorrt_llm_xqa,
    ),
    Rule(
        "llama_cpp_stream_k",
        "occupancy x SMs",
        BATCH_DEPENDENT,
        "llama.cpp fattn-common.cuh, 033efaf9",
        llama_cpp_stream_k,
    ),
    Rule(
        "llama_cpp_parallel",
        "occupancy x SMs",
        BATCH_DEPENDENT,
        "llama.cpp fattn-common.cuh, 033efaf9",
        llama_cpp_parallel,
    ),
    Rule("executorch", _SMS, BATCH_DEPENDENT, "ExecuTorch pull request 22190", executorch),
)
