"""Timings side by side."""

from __future__ import annotations

import pytest

from exonerate.core.kernel_speed import DecodeShape, speed_document
from exonerate.errors import ExonerateError
from exonerate.kernels.bench import Plan, bench
from exonerate.report.splitk_bench import text

SHAPE = DecodeShape(batch=2, q_heads=4, kv_heads=2, dim=32, tokens=64, dtype="bf16")


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def test_every_implementation_is_timed_beside_the_baseline() -> None:
    """The document has the same rounds for each, the baseline at 1, and the memory's speed."""
    speed = bench(Plan(shapes=[SHAPE], rounds=3), _quiet)
    document = speed_document(speed)
    assert document["schema"] == "exonerate.splitk_bench/1"
    names = [timing.name for timing in speed.timings]
    assert names == ["sdpa-packed", "sdpa-gqa", "torch-split", "ours"]
    assert {timing.rounds for timing in speed.timings} == {3}
    assert speed.timings[0].ratio == 1.0
    assert speed.copy_gb_s > 0
    assert speed.read_gb_s > 0
    assert "speed / sdpa-packed" in text(speed)


def test_a_gpu_that_is_not_there_is_the_operators_to_mend() -> None:
    """Timing a device that torch does not see says so."""
    with pytest.raises(ExonerateError, match="torch sees no GPU here"):
        bench(Plan(shapes=[SHAPE], device="cuda"), _quiet)
    with pytest.raises(ExonerateError, match="0 rounds"):
        bench(Plan(shapes=[SHAPE], rounds=0), _quiet)
