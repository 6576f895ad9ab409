"""The gate over compiled kernels: what ships, and what the gate would stop."""

from __future__ import annotations

import pytest

from exonerate.kernels.compile_gate import BUILDS, Build, cost_of, table
from exonerate.kernels.triton_attention import Tiles

BLACKWELL_SHARED_BYTES = 101_376
"""Shared memory that one block may have at compute capability 12.0."""

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
def test_a_build_that_ships_neither_spills_nor_overflows(build: Build) -> None:
    """No spill, no stack, shared memory within the device's limit, at least one block an SM."""
    cost = cost_of(build)
    assert cost.complaints() == []
    assert cost.registers <= 255
    assert cost.occupancy.ctas_per_sm >= 1
    if build.capability == "12.0":
        assert cost.shared_bytes <= BLACKWELL_SHARED_BYTES


def test_every_device_and_kernel_is_among_the_builds() -> None:
    """sm_90, sm_100 and sm_120; both kernels; all formats; a latent cache."""
    assert {build.capability for build in BUILDS} == {"9.0", "10.0", "12.0"}
    assert {build.kernel for build in BUILDS} == {"split", "combine"}
    assert {build.dtype for build in BUILDS} == {"bf16", "fp16", "fp32"}
    assert any(build.kv_dtype == "fp8" for build in BUILDS)
    assert any(build.latent for build in BUILDS)


def test_a_tile_that_compiles_and_cannot_launch_is_stopped() -> None:
    """Compiling is no proof of launching: more shared memory than a block may have."""
    wide = Build(
        kernel="split",
        capability="12.0",
        dim=512,
        group=16,
        tiles=Tiles(heads=16, tokens=64, warps=8, stages=2),
    )
    cost = cost_of(wide)
    assert cost.shared_bytes > BLACKWELL_SHARED_BYTES
    assert "no block fits on an SM" in cost.complaints()
    assert any("shared memory" in line for line in table([cost]))


def test_a_tile_that_spills_is_stopped() -> None:
    """Float32 products in too few warps spill registers to memory."""
    cost = cost_of(
        Build(
            kernel="split",
            capability="12.0",
            dtype="fp32",
            tiles=Tiles(heads=16, tokens=64, warps=4, stages=2),
        )
    )
    assert cost.spills > 0
    assert any("spills" in complaint for complaint in cost.complaints())
