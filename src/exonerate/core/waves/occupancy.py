"""How many CTAs of a compiled kernel fit on one SM at a time.

Five limits, the smallest decides:

    blocks       a fixed number per SM
    warps        resident warps per SM / warps per CTA
    registers    each warp takes ceil(registers x 32, 256) out of its quarter of the register file
    shared       each CTA takes ceil(shared + 1 KiB, 128 B) out of the SM's shared memory
    launchable   shared memory and threads per CTA have limits of their own: over them, none fits

A kernel that compiles can still be unable to launch: ptxas does not check the fourth and fifth.
"""

from __future__ import annotations

from dataclasses import dataclass

from exonerate.errors import ExonerateError

WARP = 32
THREADS_PER_CTA_MAX = 1024
REGISTERS_PER_THREAD_MAX = 255
# Allocation units of the CUDA occupancy calculator (`cuda_occupancy.h` of the toolkit): registers
# by 256 per warp, warps spread over 4 quarters of the SM, shared memory by 128 bytes.
REGISTER_UNIT = 256
QUARTERS = 4
SHARED_UNIT = 128


@dataclass(frozen=True, slots=True)
class SmLimits:
    """What one SM of a compute capability holds."""

    capability: str
    blocks: int
    warps: int
    registers: int
    shared_bytes: int
    shared_bytes_per_cta: int
    shared_bytes_reserved: int


_KIB = 1024
SOURCE = 'CUDA Programming Guide, "Technical Specifications per Compute Capability"'
# The reserved KiB per CTA: CUDA tuning guides for Ampere, Ada, Hopper and Blackwell.
_LIMITS = {
    "7.5": SmLimits("7.5", 16, 32, 65536, 64 * _KIB, 64 * _KIB, 0),
    "8.0": SmLimits("8.0", 32, 64, 65536, 164 * _KIB, 163 * _KIB, _KIB),
    "8.6": SmLimits("8.6", 16, 48, 65536, 100 * _KIB, 99 * _KIB, _KIB),
    "8.9": SmLimits("8.9", 24, 48, 65536, 100 * _KIB, 99 * _KIB, _KIB),
    "9.0": SmLimits("9.0", 32, 64, 65536, 228 * _KIB, 227 * _KIB, _KIB),
    "10.0": SmLimits("10.0", 32, 64, 65536, 228 * _KIB, 227 * _KIB, _KIB),
    "12.0": SmLimits("12.0", 24, 48, 65536, 100 * _KIB, 99 * _KIB, _KIB),
}


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one CTA of the compiled kernel asks for, as `cuobjdump --dump-resource-usage` says."""

    registers_per_thread: int
    shared_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs that fit on one SM, and the limit that stops the next one."""

    ctas_per_sm: int
    limited_by: str
    share_of_warps: float


def limits_of(capability: str) -> SmLimits:
    """The limits of a compute capability such as `12.0`; raises ExonerateError when unknown."""
    limits = _LIMITS.get(capability)
    if limits is None:
        raise ExonerateError(
            f"no SM limits are known for compute capability `{capability}`",
            f"known: {', '.join(_LIMITS)}; or give the CTAs per SM as a number",
        )
    return limits


def occupancy(kernel: KernelResources, limits: SmLimits) -> Occupancy:
    """How many CTAs of the kernel are resident on one SM; 0 when it cannot launch at all."""
    _refuse_impossible(kernel)
    warps = -(-kernel.threads // WARP)
    fits = {
        "blocks": limits.blocks,
        "warps": limits.warps // warps,
        "registers": _by_registers(kernel.registers_per_thread, warps, limits.registers),
        "shared memory": _by_shared(kernel.shared_bytes, limits),
    }
    limited_by = min(fits, key=lambda name: fits[name])
    ctas = fits[limited_by]
    return Occupancy(ctas, limited_by, min(1.0, ctas * warps / limits.warps))


def _by_registers(per_thread: int, warps: int, registers: int) -> int:
    if per_thread == 0:
        return registers
    per_warp = -(-per_thread * WARP // REGISTER_UNIT) * REGISTER_UNIT
    warps_that_fit = registers // QUARTERS // per_warp * QUARTERS
    return warps_that_fit // warps


def _by_shared(shared_bytes: int, limits: SmLimits) -> int:
    if shared_bytes > limits.shared_bytes_per_cta:
        return 0
    per_cta = -(-(shared_bytes + limits.shared_bytes_reserved) // SHARED_UNIT) * SHARED_UNIT
    return limits.shared_bytes // per_cta if per_cta else limits.blocks


def _refuse_impossible(kernel: KernelResources) -> None:
    if not 0 <= kernel.registers_per_thread <= REGISTERS_PER_THREAD_MAX:
        raise ExonerateError(
            f"{kernel.registers_per_thread} registers per thread is not possible; 0 to 255 are",
            "take REG from `cuobjdump --dump-resource-usage KERNEL.cubin`",
        )
    if not 1 <= kernel.threads <= THREADS_PER_CTA_MAX:
        raise ExonerateError(
            f"{kernel.threads} threads per CTA is not possible; 1 to 1024 are",
            "threads are 32 x the kernel's number of warps",
        )
    if kernel.shared_bytes < 0:
        raise ExonerateError(
            f"{kernel.shared_bytes} bytes of shared memory is not possible",
            "take the bytes of one CTA, static and dynamic together",
        )
