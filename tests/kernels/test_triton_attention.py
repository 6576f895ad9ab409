"""The Triton kernels in the interpreter: fp32 and fp16, since its bf16 is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from exonerate.core.exactness import PROMISED_BY_DEFAULT, Property
from exonerate.errors import ExonerateError
from exonerate.kernels import torch_attention, triton_attention
from exonerate.kernels.prover.call import InProcess
from exonerate.kernels.prover.prove import Sweep, prove
from exonerate.kernels.split_rule import SplitRule
from exonerate.kernels.triton_attention import Tiles


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def _tensors(
    lengths: list[int], *, heads: tuple[int, int] = (4, 2), dim: int = 32, dim_v: int = 32
) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths) + 1, heads[1])
    return (
        torch.randn((len(lengths), heads[0], dim), generator=generator),
        torch.randn((*shape, dim), generator=generator),
        torch.randn((*shape, dim_v), generator=generator),
        torch.tensor(lengths),
    )


def _error(given: tuple[Any, ...], splits: int = 3, **options: Any) -> float:
    """Largest difference to the same attention in torch."""
    alike = {name: options[name] for name in ("softcap", "sinks", "scale") if name in options}
    q, k, v, lengths = given
    truth, truth_lse = torch_attention.attend_split(q, k, v, lengths, 1, **alike)
    out, lse = triton_attention.attend(q, k, v, lengths, splits, **options)
    if "sinks" not in options:
        assert torch.allclose(lse, truth_lse, atol=2e-6)
    return float((out - truth).abs().max())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.timeout(280)
def test_the_quick_sweep_breaks_no_promise() -> None:
    """Every condition of the quick sweep, pages, sinks and soft caps among them."""
    promised = (*PROMISED_BY_DEFAULT, Property.BATCH_INVARIANT)
    sweep = Sweep(target="triton", level="quick", promised=promised, dtypes=("fp32",))
    proof = prove(InProcess(triton_attention.attend), sweep, _quiet)
    assert [finding for finding in proof.findings if finding.broken] == []
    assert proof.verdict(Property.ACCURATE) == "holds"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_half_precision_keeps_its_promises() -> None:
    """fp16 on the conditions where formats differ."""
    conditions = ("plain", "empty-split", "offset", "negligible-huge", "denormal", "heads")
    sweep = Sweep(target="triton", level="quick", dtypes=("fp16",), conditions=conditions)
    proof = prove(InProcess(triton_attention.attend), sweep, _quiet)
    assert [finding for finding in proof.findings if finding.broken] == []
    assert proof.dtypes == ("fp16",)


def test_bf16_is_refused_in_the_interpreter() -> None:
    """Nonsense would be the alternative, and it would look like a broken kernel."""
    q, k, v, lengths = _tensors([5])
    with pytest.raises(NotImplementedError, match="bf16"):
        triton_attention.attend(q.bfloat16(), k.bfloat16(), v.bfloat16(), lengths)


@pytest.mark.parametrize(
    "rule",
    [SplitRule(split_size=16), SplitRule(target_ctas=20), SplitRule(num_splits=200)],
    ids=["size", "target", "number"],
)
def test_each_rule_cuts_without_loss(rule: SplitRule) -> None:
    """Whatever the rule, the answer is the same to float32's last digits."""
    assert _error(_tensors([70, 33, 1]), rule=rule) < 2e-6


@pytest.mark.parametrize(("dtype", "most"), [("fp32", 1e-6), ("fp16", 1e-3)])
def test_the_partials_format_decides_the_error(dtype: str, most: float) -> None:
    """Partials in 16 bits cost their own rounding and not more."""
    assert most / 1e3 < _error(_tensors([64, 37]), 4, partial_dtype=dtype) < most


def test_a_latent_cache_is_read_once_and_answered_right() -> None:
    """Values that are the main part of the keys, in the same memory, take the shared path."""
    q, k, _, lengths = _tensors([40, 17], heads=(4, 1), dim=80)
    shared = k[..., :64]
    assert triton_attention.is_latent(k, shared, 64)
    assert not triton_attention.is_latent(k, shared.clone(), 64)
    assert _error((q, k, shared, lengths)) < 2e-6
    assert _error((q, k, shared.clone(), lengths)) < 2e-6


@pytest.mark.parametrize("dim", [8, 16, 20, 96, 128])
def test_any_head_size_is_taken(dim: int) -> None:
    """Dims below a matrix instruction's 16 and between powers of two are padded with nothing."""
    assert _error(_tensors([19, 6], dim=dim, dim_v=dim)) < 2e-6


def test_a_hundred_query_heads_share_a_kv_head() -> None:
    """More heads than a tile holds take more tiles."""
    assert _error(_tensors([21], heads=(100, 1)), tiles=Tiles(heads=32, tokens=16)) < 2e-6


def test_a_row_does_not_change_with_its_mates_when_the_split_size_is_fixed() -> None:
    """With a fixed split size a sequence's bits are its own; with a target they are not."""
    q, k, v, lengths = _tensors([40, 90, 7, 3])

    def first(rows: int, rule: SplitRule) -> Any:
        given = q[:rows], k[:rows], v[:rows], lengths[:rows]
        return triton_attention.attend(*given, rule=rule)[0][0]

    assert torch.equal(first(1, SplitRule(split_size=16)), first(4, SplitRule(split_size=16)))
    target = SplitRule(target_ctas=24)
    assert not torch.equal(first(1, target), first(4, target))


def test_an_output_with_gaps_inside_a_head_is_refused() -> None:
    """The kernel writes heads whole."""
    q, k, v, lengths = _tensors([5])
    with pytest.raises(ExonerateError, match="gaps inside a head"):
        triton_attention.attend(q, k, v, lengths, out=torch.empty(1, 4, 64)[..., ::2])
    with pytest.raises(ExonerateError, match="partials cannot be `fp8`"):
        triton_attention.attend(q, k, v, lengths, partial_dtype="fp8")
