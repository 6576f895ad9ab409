"""How many CTAs of the kernel run at the same time on the whole GPU: the slots of the model."""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.core.waves.gpus import Gpu
from exonerate.core.waves.model import slots_of
from exonerate.core.waves.occupancy import KernelResources, Occupancy, limits_of, occupancy
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True)
class Residency:
    """How many CTAs of the kernel run on one SM.

    `kernel` decides where it is given; `shared` says that CTAs on one SM slow each other down
    so much that the SM counts as one slot.
    """

    ctas_per_sm: int = 1
    kernel: KernelResources | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU with the slots that a kernel finds on it."""

    gpu: Gpu
    ctas_per_sm: int
    slots: int
    occupancy: Occupancy | None


def device_of(gpu: Gpu, residency: Residency) -> Device:
    """The slots of a GPU; raises ExonerateError when the kernel fits on no SM."""
    fits = None
    ctas = residency.ctas_per_sm
    if residency.kernel is not None:
        fits = occupancy(residency.kernel, limits_of(gpu.capability))
        ctas = fits.ctas_per_sm
        if ctas == 0:
            raise ExonerateError(
                f"the kernel cannot be launched on {gpu.name}: {fits.limited_by} does not suffice",
                "compiling is no proof of launching; lower its shared memory, registers or warps",
            )
    slots = slots_of(gpu.sms, ctas)
    return Device(gpu, ctas, gpu.sms if residency.shared else slots, fits)
