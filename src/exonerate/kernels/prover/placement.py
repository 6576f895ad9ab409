"""Arrays as they lie in memory when a target gets them: strides, guard bands, poison.

Every array is a view into a longer buffer whose other elements are guards. After the call the
buffer is compared with a copy: a changed guard is a write outside the array.

Layouts of k and v (batch, tokens, kv_heads, dim):
    contiguous   in the order of the axes
    transposed   tokens inside heads, as engines keep (batch, kv_heads, tokens, dim)
    padded       every innermost row is longer than dim
    mixed        k transposed, v padded: their strides differ
    far          sequences more than 2**31 elements apart, in memory that is only reserved
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from exonerate.kernels.number_formats import bf16_bits, fp8_bits, from_bf16_bits, from_fp8_bits

LAYOUTS = ("contiguous", "transposed", "padded", "mixed", "far")
GUARD = 64
"""Guard elements before and after each array."""

PAD = 8
"""Elements that a padded row is longer than its contents."""

FAR_ELEMENTS = 2**31 + 4096
"""Distance of the first and the last sequence of a far layout: past the range of int32."""

# Bits are what is placed, so that one code serves formats that NumPy does not know.
_BITS: dict[str, Any] = {
    "fp32": np.uint32,
    "fp16": np.uint16,
    "bf16": np.uint16,
    "fp8": np.uint8,
}
_GUARD_BITS = {"fp32": 0x7FC0DEAD, "fp16": 0x7EAD, "bf16": 0x7FDE, "fp8": 0x7F}  # NaNs


@dataclass(frozen=True, slots=True)
class Placed:
    """A view (bit patterns) in its buffer, and how both looked before the call."""

    name: str
    dtype: str
    view: NDArray[Any]
    buffer: NDArray[Any]
    guards: NDArray[np.bool_]
    before: NDArray[Any]
    guard: int

    def disturbance(self, *, contents: bool) -> str:
        """What was changed, in words: guards, and with `contents` the array itself; else empty."""
        if contents and not np.array_equal(self.view, self.before):
            return f"`{self.name}` was changed"
        written = int(np.count_nonzero(self.buffer[self.guards] != self.guard))
        return f"{written} elements around `{self.name}` were written" if written else ""


def encode(values: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    """Bit patterns of values that lie on the grid of the format."""
    if dtype == "bf16":
        return bf16_bits(values)
    if dtype == "fp8":
        return fp8_bits(values)
    kind: Any = {"fp32": np.float32, "fp16": np.float16}[dtype]
    with np.errstate(over="ignore"):  # a poison may be larger than the format's largest
        return np.ascontiguousarray(values.astype(kind)).view(_BITS[dtype])


def decode(bits: NDArray[Any], dtype: str) -> NDArray[np.float32]:
    """The values of bit patterns."""
    if dtype == "bf16":
        return from_bf16_bits(np.ascontiguousarray(bits))
    if dtype == "fp8":
        return from_fp8_bits(bits)
    kind: Any = {"fp32": np.float32, "fp16": np.float16}[dtype]
    values: NDArray[np.float32] = np.ascontiguousarray(bits).view(kind).astype(np.float32)
    return values


def place(name: str, values: NDArray[np.float32], dtype: str, *, layout: str) -> Placed:
    """The values as a view of that layout between guards."""
    if layout == "far":
        return _place_far(name, values, dtype)
    strides, length = _strides(values.shape, _layout_of(name, layout))
    buffer = np.full(length + 2 * GUARD, _GUARD_BITS[dtype], _BITS[dtype])
    guards = np.ones(buffer.shape, np.bool_)
    view = _view(buffer, values.shape, strides)
    view[...] = encode(values, dtype)
    _view(guards, values.shape, strides)[...] = False
    return Placed(name, dtype, view, buffer, guards, view.copy(), _GUARD_BITS[dtype])


def _layout_of(name: str, layout: str) -> str:
    if layout != "mixed":
        return layout
    return {"k": "transposed", "v": "padded"}.get(name, "contiguous")


def _strides(shape: Sequence[int], layout: str) -> tuple[list[int], int]:
    """Strides in elements, and how many elements the array spans."""
    order = list(range(len(shape)))
    extents = list(shape)
    if layout == "transposed" and len(shape) == 4:
        order = [0, 2, 1, 3]
    elif layout == "transposed" and len(shape) == 3:
        order = [1, 0, 2]
    elif layout == "padded":
        extents[-1] += PAD
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(extents[axis], 1)
    return strides, step


def _view(buffer: NDArray[Any], shape: Sequence[int], strides: Sequence[int]) -> NDArray[Any]:
    size = buffer.itemsize
    return as_strided(buffer[GUARD:], tuple(shape), [stride * size for stride in strides])


def _place_far(name: str, values: NDArray[np.float32], dtype: str) -> Placed:
    """k and v spread over reserved memory; only the pages that hold values are ever touched."""
    if name not in ("k", "v") or values.shape[0] < 2:
        return place(name, values, dtype, layout="contiguous")
    kind = np.dtype(_BITS[dtype])
    inner, span = _strides(values.shape[1:], "contiguous")
    distance = FAR_ELEMENTS // (values.shape[0] - 1)
    length = distance * (values.shape[0] - 1) + span
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    reserved = mmap.mmap(-1, length * kind.itemsize, flags=flags)
    flat = np.frombuffer(reserved, dtype=kind)
    strides = [stride * kind.itemsize for stride in (distance, *inner)]
    view = as_strided(flat, values.shape, strides)
    view[...] = encode(values, dtype)
    nothing = np.zeros(0, kind)  # guards around reserved memory would make all of it real
    return Placed(
        name, dtype, view, nothing, nothing.astype(np.bool_), view.copy(), _GUARD_BITS[dtype]
    )
