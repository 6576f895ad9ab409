"""Floating-point formats as numbers: rounding to a format, the size of a unit in the last place.

Values of every format are kept as float32 or float64 arrays that lie on the format's grid, because
NumPy has neither bfloat16 nor float8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exonerate.errors import ExonerateError

Array = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One binary floating-point format (IEEE 754-2019; OCP 8-bit floating point 1.0 for fp8)."""

    name: str
    mantissa_bits: int
    exponent_min: int
    largest: float
    has_infinity: bool = True

    @property
    def unit_roundoff(self) -> float:
        """The largest relative error of rounding a normal number to nearest."""
        return 2.0 ** -(self.mantissa_bits + 1)

    @property
    def smallest_normal(self) -> float:
        """Below this a number loses bits, or is flushed to zero by hardware that does so."""
        return 2.0**self.exponent_min


FORMATS: dict[str, NumberFormat] = {
    "fp32": NumberFormat("fp32", 23, -126, float(np.finfo(np.float32).max)),
    "bf16": NumberFormat("bf16", 7, -126, (2 - 2**-7) * 2.0**127),
    "fp16": NumberFormat("fp16", 10, -14, 65504.0),
    "fp8": NumberFormat("fp8", 3, -6, 448.0, has_infinity=False),  # e4m3fn
}


def number_format(name: str) -> NumberFormat:
    """The format of that name."""
    if name not in FORMATS:
        raise ExonerateError(
            f"`{name}` is not a number format", f"choose from {', '.join(FORMATS)}"
        )
    return FORMATS[name]


def ulp(values: Array, name: str) -> NDArray[np.float64]:
    """The distance between neighbours of the format at each value."""
    fmt = number_format(name)
    _, exponent = np.frexp(np.abs(np.asarray(values, np.float64)))  # value = f * 2**exponent, f < 1
    quantum: NDArray[np.float64] = np.ldexp(
        1.0, np.maximum(exponent - 1, fmt.exponent_min) - fmt.mantissa_bits
    )
    return quantum


def round_to(values: Array, name: str) -> NDArray[np.float32]:
    """Each value rounded to nearest, ties to even, on the grid of the format, as float32."""
    fmt = number_format(name)
    wide = np.asarray(values, np.float64)
    finite = np.isfinite(wide)
    quantum = ulp(np.where(finite, wide, 0.0), name)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.where(finite, np.rint(wide / quantum) * quantum, wide)
    too_large = np.abs(rounded) > fmt.largest
    beyond = np.copysign(np.inf, rounded) if fmt.has_infinity else np.nan
    return np.where(too_large, beyond, rounded).astype(np.float32)


def fp8_bits(values: Array) -> NDArray[np.uint8]:
    """The 8-bit patterns (e4m3fn) of values; what is not on the grid goes to a neighbour."""
    magnitude = np.abs(np.asarray(values, np.float64))
    table = from_fp8_bits(np.arange(0x7F, dtype=np.uint8))  # the positive numbers, in their order
    index = np.clip(np.searchsorted(table, magnitude), 0, 0x7E)
    bits = np.where(magnitude <= table[-1], index, 0x7F) | np.where(np.signbit(values), 0x80, 0)
    return bits.astype(np.uint8)


def from_fp8_bits(bits: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The values of 8-bit patterns: sign, 4 bits of exponent (bias 7), 3 of mantissa; 0x7F is NaN.

    OCP 8-bit floating point specification, revision 1.0, table 1.
    """
    wide = np.asarray(bits, np.int64)
    exponent, mantissa = (wide >> 3) & 15, wide & 7
    normal = np.ldexp(8.0 + mantissa, exponent - 10)
    value = np.where(exponent == 0, np.ldexp(1.0 * mantissa, -9), normal)
    value = np.where(wide & 0x7F == 0x7F, np.nan, value)
    return np.where(wide & 0x80, -value, value).astype(np.float32)


def bf16_bits(values: Array) -> NDArray[np.uint16]:
    """The 16-bit patterns of values that lie on the bf16 grid."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) >> np.uint32(16)
    return bits.astype(np.uint16)


def from_bf16_bits(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values of 16-bit patterns of bf16."""
    return (np.asarray(bits, np.uint32) << np.uint32(16)).view(np.float32)
