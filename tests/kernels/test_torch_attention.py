"""The torch paths: the promises they keep, and what packing does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from exonerate.core.exactness import PROMISED_BY_DEFAULT, Property
from exonerate.errors import ExonerateError
from exonerate.kernels import torch_attention
from exonerate.kernels.prover.call import InProcess
from exonerate.kernels.prover.prove import Sweep, prove


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


@pytest.mark.parametrize(
    ("function", "level"),
    [(torch_attention.attend, "default"), (torch_attention.attend_split, "quick")],
)
def test_the_sweep_breaks_no_promise(function: Any, level: str) -> None:
    """fp32, fp16 and bf16, pages, sinks and soft caps: every promise and batch invariance hold."""
    promised = (*PROMISED_BY_DEFAULT, Property.BATCH_INVARIANT)
    proof = prove(
        InProcess(function), Sweep(target="torch", promised=promised, level=level), _quiet
    )
    assert [finding for finding in proof.findings if finding.broken] == []
    assert proof.dtypes == ("fp32", "fp16", "bf16")
    assert not any("pages" in item for item in proof.not_examined)


def test_the_fast_path_gives_the_same_bits_at_any_split_count() -> None:
    """On a CPU there is nothing to split, so split invariance can be promised."""
    promised = (*PROMISED_BY_DEFAULT, Property.SPLIT_INVARIANT)
    sweep = Sweep(target="torch", promised=promised, level="quick")
    assert not prove(InProcess(torch_attention.attend), sweep, _quiet).broken


def test_packing_the_group_changes_nothing_but_the_speed() -> None:
    """Heads passed as positions of one query give what torch gives for heads as heads."""
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 8, 32), torch.randn(2, 40, 2, 32), torch.randn(2, 40, 2, 32)
    out, _ = torch_attention.attend(q, k, v, torch.tensor([40, 40]))
    unpacked = torch.nn.functional.scaled_dot_product_attention(
        q[:, :, None], k.transpose(1, 2), v.transpose(1, 2), enable_gqa=True
    )
    assert torch.allclose(out, unpacked[:, :, 0], atol=1e-6)


def test_a_split_count_below_one_is_refused() -> None:
    """The fast path refuses it although it does not look at split counts otherwise."""
    q = torch.zeros(1, 1, 8)
    kv = torch.zeros(1, 2, 1, 8)
    with pytest.raises(ExonerateError, match="`num_splits` is 0"):
        torch_attention.attend(q, kv, kv, torch.tensor([2]), 0)
