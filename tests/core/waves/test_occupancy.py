"""CTAs that fit on one SM."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.occupancy import KernelResources, limits_of, occupancy
from exonerate.errors import ExonerateError

SM_120 = limits_of("12.0")


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "ctas", "limited_by"),
    [
        (255, 22_528, 128, 2, "registers"),  # 8,192 registers a warp: 8 warps in the file
        (174, 51_200, 256, 1, "registers"),  # 5,632 a warp: 2 a quarter, 8 in all
        (32, 51_200, 128, 1, "shared memory"),  # 52,224 with the reserved KiB, of 102,400
        (32, 50_176, 128, 2, "shared memory"),  # exactly half of the SM
        (16, 0, 32, 24, "blocks"),
        (32, 0, 1024, 1, "warps"),
        (0, 0, 64, 24, "blocks"),
    ],
)
def test_the_smallest_limit_decides(
    registers: int, shared: int, threads: int, ctas: int, limited_by: str
) -> None:
    """Worked by hand from the limits of compute capability 12.0."""
    found = occupancy(KernelResources(registers, shared, threads), SM_120)
    assert (found.ctas_per_sm, found.limited_by) == (ctas, limited_by)


def test_a_kernel_that_compiles_can_still_be_unable_to_launch() -> None:
    """151,552 bytes of shared memory build without complaint, 101,376 is what a CTA may have."""
    assert occupancy(KernelResources(128, 151_552, 256), SM_120).ctas_per_sm == 0
    assert occupancy(KernelResources(128, 101_376, 256), SM_120).ctas_per_sm == 1


def test_shared_memory_without_a_reserve_is_free_when_unused() -> None:
    """Before compute capability 8.0 nothing is reserved per CTA."""
    assert occupancy(KernelResources(16, 0, 64), limits_of("7.5")).ctas_per_sm == 16


@given(
    registers=st.integers(16, 254),
    shared=st.integers(0, 100_000),
    threads=st.sampled_from([32, 64, 128, 256, 512]),
)
def test_asking_for_more_never_fits_more_often(registers: int, shared: int, threads: int) -> None:
    """Occupancy falls or stays with each resource."""
    now = occupancy(KernelResources(registers, shared, threads), SM_120)
    for more in (
        KernelResources(registers + 1, shared, threads),
        KernelResources(registers, shared + 1024, threads),
        KernelResources(registers, shared, threads * 2),
    ):
        assert occupancy(more, SM_120).ctas_per_sm <= now.ctas_per_sm
    assert 0 <= now.share_of_warps <= 1


@pytest.mark.parametrize(
    "kernel",
    [
        KernelResources(256, 0, 128),
        KernelResources(-1, 0, 128),
        KernelResources(32, -1, 128),
        KernelResources(32, 0, 0),
        KernelResources(32, 0, 1025),
    ],
)
def test_resources_that_no_kernel_has_are_refused(kernel: KernelResources) -> None:
    """A misread number is said to be one."""
    with pytest.raises(ExonerateError, match="not possible"):
        occupancy(kernel, SM_120)


def test_an_unknown_capability_is_refused() -> None:
    """No occupancy is invented for an SM that the table lacks."""
    with pytest.raises(ExonerateError, match=r"99\.9"):
        limits_of("99.9")
