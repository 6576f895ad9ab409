"""The public rules against examples worked by hand from their restatement."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves import public_rules as public
from exonerate.core.waves.partition import Batch, Launch, split_evenly
from exonerate.core.waves.public_rules import PUBLIC_RULES
from exonerate.core.waves.rules import SIZE_FIXED, Rule

NO_CAP = 1 << 20


def launch(budget: int) -> Launch:
    """The public rules look at the budget only."""
    return Launch(budget, budget, NO_CAP)


def even(concurrency: int, tokens: int = 8192, units: int = 2, tile: int = 64) -> Batch:
    """Equal requests."""
    return Batch((tokens,) * concurrency, units, tile)


def test_gfx950_stays_below_the_measured_cliff() -> None:
    """Batch 24 and 512 blocks: 21 splits and 504 blocks, not 22 and 528 where time jumps."""
    partition = public.sglang_gfx950_mla(even(24, 68_000, 1, 1), launch(512))
    assert (partition.splits[0], partition.ctas) == (21, 504)


def test_sglang_triton_grows_with_the_logarithm_and_stops_at_eight() -> None:
    """188 x log2(8192 / 64) = 1316 over 192 CTAs is 6.9, so 7; one request alone gets the cap."""
    assert public.sglang_triton(even(96), launch(188)).splits[0] == 7
    assert public.sglang_triton(even(1), launch(188)).splits[0] == 8


def test_sglang_triton_lets_batch_mates_decide() -> None:
    """The same request is cut differently beside a long one: ceil(1000 / 125), then 1000 / 1000."""
    alone = public.sglang_triton(Batch((1000,), 1, 1), launch(188)).splits[0]
    beside = public.sglang_triton(Batch((1000, 8000), 1, 1), launch(1)).splits
    assert (alone, beside) == (8, (1, 8))


def test_sglang_triton_survives_an_empty_request() -> None:
    """A length of 0 in the batch must not divide by 0."""
    assert public.sglang_triton(Batch((0, 100), 1, 1), launch(188)).splits[0] == 1
    assert public.sglang_triton(Batch((0,), 1, 1), launch(188)).splits == (1,)


def test_deterministic_mode_cuts_every_256_tokens() -> None:
    """The count follows the request's own length."""
    assert public.sglang_deterministic(Batch((1000, 256), 1, 1), launch(9)).splits == (4, 1)


def test_vllm_has_a_constant_and_a_threshold() -> None:
    """Four splits; sixteen segments up to 128 / KV heads requests, then none."""
    assert public.vllm_triton_mla(even(3), launch(9)).splits[0] == 4
    assert public.vllm_unified(even(16, units=8), launch(9)).splits[0] == 16
    assert public.vllm_unified(even(17, units=8), launch(9)).splits[0] == 1


def test_flashmla_fills_parts_and_cuts_the_last_request() -> None:
    """Ten and thirty blocks on four parts, five more per start: payload ceil(50 / 4) + 5 = 18.

    Part 1 takes ten blocks and has 3 left, too few to start another; 13, 13 and 4 blocks follow.
    """
    partition = public.flashmla(Batch((640, 1920), 1, 64), launch(4))
    assert [run.tokens / 64 for run in partition.runs] == [10, 13, 13, 4]
    assert partition.splits == (1, 3)


@given(
    lengths=st.lists(st.integers(0, 50_000), min_size=1, max_size=30),
    budget=st.integers(1, 300),
)
def test_flashmla_never_needs_more_parts_than_it_has(lengths: list[int], budget: int) -> None:
    """No wave tail: one wave at most, whatever the lengths."""
    partition = public.flashmla(Batch(tuple(lengths), 1, 64), launch(budget))
    assert partition.ctas <= budget


@given(
    lengths=st.lists(st.integers(1, 20_000), min_size=1, max_size=20),
    budget=st.integers(1, 400),
)
def test_flashinfer_takes_the_smallest_chunk_that_fits_the_grid(
    lengths: list[int], budget: int
) -> None:
    """Found by trying every chunk from one tile upwards; no chunk can shrink the batch itself."""
    batch = Batch(tuple(lengths), 1, 64)
    partition = public.flashinfer_chunk(batch, launch(budget))
    tiles = [math.ceil(tokens / 64) for tokens in lengths]
    chunk = next(
        (
            size
            for size in range(1, max(tiles))
            if sum(math.ceil(count / size) for count in tiles) <= budget
        ),
        max(tiles),
    )
    assert partition == split_evenly(batch, [math.ceil(count / chunk) for count in tiles])


def test_flashinfer_sm120_takes_at_most_three_waves_and_fills_the_last() -> None:
    """96 x 2 CTAs on 188: chunks of 32 blocks make 768 CTAs, more than three waves, so refused."""
    partition = public.flashinfer_sm120_mla(even(96), launch(188))
    assert math.ceil(partition.ctas / 188) <= 3
    assert public.flashinfer_sm120_mla(even(400), launch(188)).splits[0] == 1


def test_flash_attention_2_wants_a_full_last_wave() -> None:
    """96 CTAs on 376 places: 7 splits fill 89 % of two waves, 3 and 4 splits 77 % at best."""
    assert public.flash_attention_2(even(48), launch(376)).splits[0] == 7
    assert public.flash_attention_2(even(80), launch(188)).splits[0] == 1


def test_flash_attention_3_leaves_short_requests_alone() -> None:
    """Four blocks of 64 tokens are not worth a combine."""
    assert public.flash_attention_3(even(4, 256), launch(188)).splits[0] == 1
    assert public.flash_attention_2(even(4, 256), launch(188)).splits[0] > 1


def test_flash_attention_3_varlen_splits_each_request_by_its_own_blocks() -> None:
    """11 blocks x 1.1 on 4 SMs are 4 a piece: ten blocks in 3 splits, one block in 1."""
    batch = Batch((640, 64), 1, 64)
    assert public.flash_attention_3_varlen(batch, launch(4)).splits == (3, 1)


def test_flash_attention_4_never_takes_a_second_wave() -> None:
    """floor(188 / 96) = 1; a third of the requests get 5; four blocks stay whole."""
    assert public.flash_attention_4(even(48), launch(188)).splits[0] == 1
    assert public.flash_attention_4(even(16), launch(188)).splits[0] == 5
    assert public.flash_attention_4(even(1, 256), launch(188)).splits[0] == 1


def test_xqa_holds_splits_down_by_a_square_root() -> None:
    """8192 / 512 = 16, root of 8 x 16 is 11.3, so 11; 24 requests of 2 leave room for 3."""
    assert public.tensorrt_llm_xqa(even(1, tile=1), launch(188)).splits[0] == 11
    assert public.tensorrt_llm_xqa(even(24, tile=1), launch(188)).splits[0] == 3


def test_stream_k_rounds_to_whole_tiles_when_that_loses_little() -> None:
    """188 blocks become 180 = 2 x 90 (4 % lost); with 64 tiles 128 would lose a third."""
    assert public.llama_cpp_stream_k(even(90, units=1), launch(188)).ctas == 180
    assert public.llama_cpp_stream_k(even(64, units=1), launch(188)).ctas == 188


def test_parallel_blocks_stop_before_a_needless_wave() -> None:
    """94 tiles on 188: two splits fill one wave, so nothing further is tried."""
    assert public.llama_cpp_parallel(even(94, units=1), launch(188)).splits[0] == 2


def test_executorch_aims_at_sixteen_ninths_of_a_wave() -> None:
    """16 x 108 / (9 x 12) = 16."""
    assert public.executorch(even(12, units=1), launch(108)).splits[0] == 16


@given(
    rule=st.sampled_from(PUBLIC_RULES),
    lengths=st.lists(st.integers(0, 9000), min_size=1, max_size=40).filter(any),
    units=st.sampled_from([1, 2, 8]),
    budget=st.integers(1, 1000),
)
def test_every_rule_gives_all_work_to_some_cta(
    rule: Rule, lengths: list[int], units: int, budget: int
) -> None:
    """No rule loses tokens or a request, whatever the batch and the budget."""
    partition = rule.cut(Batch(tuple(lengths), units, 64), launch(budget))
    work = sum(run.tokens * run.count for run in partition.runs)
    assert work == pytest.approx(units * sum(lengths))
    assert len(partition.splits) == len(lengths)
    assert min(partition.splits) >= 1
    if rule.invariance == SIZE_FIXED:
        alone = rule.cut(Batch((lengths[0],), units, 64), launch(budget))
        assert alone.splits[0] == partition.splits[0]


def test_every_rule_says_where_it_was_read() -> None:
    """Names are unique and sources are given."""
    assert len({rule.name for rule in PUBLIC_RULES}) == len(PUBLIC_RULES)
    assert all(rule.source and rule.invariance for rule in PUBLIC_RULES)
    assert not next(r for r in PUBLIC_RULES if r.name == "vllm_unified").follows_target
