"""Bugs seeded into the Triton kernels: the prover finds each in the interpreter.

A bug replaces one piece of the kernels' source; the launcher is our own, so nothing else differs.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exonerate.kernels import triton_attention, triton_kernels
from exonerate.kernels.prover.call import InProcess
from exonerate.kernels.prover.prove import Sweep, prove


@dataclass(frozen=True, slots=True)
class SeededBug:
    """One piece of source and what it becomes, with a condition of the sweep that shows it."""

    name: str
    condition: str
    old: str
    new: str


BUGS = (
    SeededBug(
        "no_guard_in_split",
        "masked-split",
        'tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN',
        "m_new",
    ),
    SeededBug(
        "no_guard_in_combine", "zero-length", 'tl.where(top == float("-inf"), 0.0, top)', "top"
    ),
    SeededBug(
        "combine_reads_empty_slots",
        "empty-split",
        "filled = (length + chunk - 1) // chunk",
        "filled = splits + 0 * chunk",
    ),
    SeededBug(
        "values_past_the_length",
        "plain",
        "load_rows(v_row, dims_v, is_token, DIM_V)",
        "load_rows(v_row, dims_v, t >= 0, DIM_V)",
    ),
    SeededBug(
        "tail_not_clipped",
        "plain",
        "tl.minimum(start + chunk, length), chunk",
        "start + chunk, chunk",
    ),
    SeededBug(
        "no_alpha",
        "lengths",
        "acc * alpha[:, None] + tl.dot(p",
        "acc + tl.dot(p",
    ),
    SeededBug(
        "strides_of_k_for_v",
        "layout",
        "v_ptr + outer * v_batch_stride + inner * v_token_stride",
        "v_ptr + outer * k_batch_stride + inner * k_token_stride",
    ),
    SeededBug(
        "no_headroom",
        "negligible-huge",
        "c = tl.exp2(-tl.ceil(tl.log2(tl.maximum(length, 1).to(tl.float32))))",
        "c = 1.0",
    ),
    SeededBug(
        "wrong_kv_head", "heads", "head = kv_head * GROUP + in_group", "head = kv_head + in_group"
    ),
    SeededBug("floor_of_chunk", "plain", "(length + splits - 1) // splits)", "length // splits)"),
    SeededBug(
        "page_of_the_first_sequence",
        "pages",
        "pages_ptr + b * pages_stride + t // PAGE_SIZE",
        "pages_ptr + t // PAGE_SIZE",
    ),
    SeededBug(
        "lse_for_m_and_l",
        "offset",
        "    tl.store(m_ptr + row, m, mask=is_head)\n    tl.store(l_ptr + row, l, mask=is_head)\n",
        "    acc = acc * (c / l)[:, None]\n"
        "    tl.store(m_ptr + row, m + tl.log2(l / c), mask=is_head)\n"
        "    tl.store(l_ptr + row, l * 0.0 + c, mask=is_head)\n",
    ),
)


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def _with_bug(bug: SeededBug, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    source = inspect.getsource(triton_kernels)
    assert source.count(bug.old) == 1
    path = folder / f"bug_{bug.name}.py"
    path.write_text(source.replace(bug.old, bug.new))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    monkeypatch.setattr(triton_attention, "split_kernel", module.split_kernel)
    monkeypatch.setattr(triton_attention, "combine_kernel", module.combine_kernel)
    return triton_attention.attend


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_sweep_finds_a_bug_of_the_gpu_kernel(
    bug: SeededBug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel with one bug in it breaks a promise in the condition that stands for the bug."""
    target = _with_bug(bug, tmp_path, monkeypatch)
    sweep = Sweep(
        target=bug.name,
        level="quick",
        dtypes=("fp32",),
        conditions=(bug.condition,),
        stop_at_first=True,
    )
    assert prove(InProcess(target), sweep, _quiet).broken
