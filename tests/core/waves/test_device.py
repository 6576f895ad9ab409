"""The slots of a GPU."""

from __future__ import annotations

import pytest

from exonerate.core.waves.device import Residency, device_of
from exonerate.core.waves.gpus import gpu_named, gpu_with_sms
from exonerate.core.waves.occupancy import KernelResources
from exonerate.errors import ExonerateError

RTX = gpu_named("RTX PRO 6000 Blackwell")


def test_a_compiled_kernel_gives_its_own_residency() -> None:
    """208 registers and 22.5 KiB: two CTAs of 128 threads on each of 188 SMs."""
    found = device_of(RTX, Residency(kernel=KernelResources(208, 22_528, 128)))
    assert (found.ctas_per_sm, found.slots) == (2, 376)


def test_co_resident_ctas_that_share_an_sm_count_as_one_slot() -> None:
    """Two CTAs at half speed finish no sooner than one after the other."""
    assert device_of(RTX, Residency(ctas_per_sm=2, shared=True)).slots == 188


def test_a_kernel_that_cannot_be_launched_is_refused() -> None:
    """Compiled for 151,552 bytes of shared memory, which no SM of this kind has."""
    with pytest.raises(ExonerateError, match="shared memory does not suffice"):
        device_of(RTX, Residency(kernel=KernelResources(128, 151_552, 256)))


def test_a_gpu_of_unknown_capability_cannot_say_what_fits() -> None:
    """Only a number of SMs was given."""
    with pytest.raises(ExonerateError, match="no SM limits"):
        device_of(gpu_with_sms(188), Residency(kernel=KernelResources(32, 0, 128)))
