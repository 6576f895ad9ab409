"""Merges of partial answers: ours, and three with a bug that was public once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exonerate.kernels.merge import merge
from exonerate.kernels.prover.child import worker
from exonerate.kernels.prover.prove import Sweep, prove

BUGS = {
    # Two empty parts: -inf - -inf (flashinfer #4051).
    "no_guard": ("-inf", "w = np.exp(lses - lses.max(axis=0)); outs = np.nan_to_num(outs)"),
    # The weight of an empty part is 0 and its answer NaN.
    "zero_times_nan": (
        "-inf",
        "top = lses.max(axis=0); w = np.exp(lses - np.where(top == -np.inf, 0, top))",
    ),
    # +inf marks an empty part and wins the maximum (vllm #15492).
    "plus_inf_wins": (
        "+inf",
        "top = lses.max(axis=0); outs = np.nan_to_num(outs); "
        "w = np.exp(lses - np.where(top == -np.inf, 0, top))",
    ),
}
SOURCE = """
import numpy as np
def merge(outs, lses):
    outs = outs.astype(np.float32)
    with np.errstate(all="ignore"):
        {body}
        total = w.sum(axis=0)
        return (w[..., None] * outs).sum(axis=0) / np.where(total == 0, 1, total)[..., None]
"""


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def _broken(target: str, empty_lse: float) -> set[str]:
    child = worker(target, limit_s=60, empty_lse=empty_lse)
    try:
        sweep = Sweep(target=target, level="quick", dtypes=("fp32",))
        proof = prove(child, sweep, _quiet)
    finally:
        child.close()
    assert any("cannot carry this offset" in item for item in proof.not_examined)
    return {finding.property.value for finding in proof.findings if finding.broken}


@pytest.mark.parametrize("empty_lse", [-np.inf, np.inf, -1e30])
def test_our_merge_keeps_every_promise_whatever_marks_an_empty_part(empty_lse: float) -> None:
    """Each convention of an empty part is understood, and its garbage is not looked at."""
    assert _broken("exonerate.kernels.merge:merge", empty_lse) == set()


@pytest.mark.parametrize("name", BUGS)
def test_a_merge_with_a_bug_is_found(name: str, tmp_path: Path) -> None:
    """A merge is proved without the attention it belongs to."""
    empty_lse, body = BUGS[name]
    path = tmp_path / f"{name}.py"
    path.write_text(SOURCE.replace("{body}", body))
    assert "accurate" in _broken(f"{path}:merge", float(empty_lse))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=6), st.randoms())
def test_parts_can_come_in_any_order(lses: list[float], order: Any) -> None:
    """Merging is the same up to rounding whatever the order, an empty part among them."""
    parts = [*lses, -np.inf]
    outs = np.linspace(-1, 1, len(parts), dtype=np.float32)[:, None, None, None]
    lse = np.array(parts, np.float32)[:, None, None]
    shuffled = list(range(len(parts)))
    order.shuffle(shuffled)
    one, other = merge(outs, lse), merge(outs[shuffled], lse[shuffled])
    assert np.allclose(one[0], other[0], atol=1e-6)
    assert np.allclose(one[1], other[1], atol=1e-5)


def test_nothing_but_empty_parts_is_nothing() -> None:
    """All parts empty: 0 and -inf, though their answers hold NaN."""
    outs, lses = np.full((3, 1, 2, 4), np.nan, np.float32), np.full((3, 1, 2), np.inf, np.float32)
    out, lse = merge(outs, lses)
    assert out.tolist() == [[[0.0] * 4] * 2]
    assert lse.tolist() == [[-np.inf] * 2]
