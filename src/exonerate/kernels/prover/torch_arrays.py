"""Arrays handed to a target and read back, as NumPy arrays or as torch tensors.

Torch is imported only when a target computes with it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exonerate.kernels.prover.placement import Placed
from exonerate.kernels.prover.runner import Capabilities

_NUMPY: dict[str, Any] = {"fp32": np.float32, "fp16": np.float16}
_TORCH = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8_e4m3fn",
    "fp64": "float64",
}


class Hands:
    """Gives placed arrays to a target in its own kind and reads what it returns."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._device = capabilities.device
        self._torch: Any = None
        if capabilities.arrays == "torch":
            self._torch = importlib.import_module("torch")
        self._on_device: list[tuple[Placed, Any]] = []

    def give(self, placed: Placed) -> Any:
        """The placed array as the target shall see it: same strides, same guards."""
        if self._torch is None:
            return placed.view.view(_NUMPY[placed.dtype])
        if self._device == "cpu":
            return self._typed(self._torch.from_numpy(_signed(placed.view)), placed)
        return self._give_to_device(placed)

    def plain(self, array: NDArray[Any]) -> Any:
        """A small array (lengths, page table, sinks)."""
        if self._torch is None:
            return array
        return self._torch.from_numpy(array).to(self._device)

    def give_all(self, arrays: Sequence[Placed]) -> list[Any]:
        """Every placed array; raises MemoryError when the device cannot hold them."""
        try:
            return [self.give(array) for array in arrays]
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if "out of memory" in str(error):
                raise MemoryError(str(error).splitlines()[0]) from error
            raise

    def take_back(self) -> None:
        """Copy from the device what the target may have written."""
        for placed, storage in self._on_device:
            source = placed.buffer if placed.buffer.size else None
            if source is not None:
                source[...] = storage.cpu().numpy().view(source.dtype)

    def read(self, returned: Any) -> tuple[NDArray[np.float32], str] | None:
        """The values of a returned array and the name of its format; None when it is no array."""
        if isinstance(returned, np.ndarray) and np.issubdtype(returned.dtype, np.floating):
            names = {2: "fp16", 4: "fp32", 8: "fp64"}
            with np.errstate(over="ignore"):
                return returned.astype(np.float32), names.get(returned.dtype.itemsize, "")
        if self._torch is not None and isinstance(returned, self._torch.Tensor):
            if not returned.is_floating_point():
                return None
            name = next(
                (ours for ours, its in _TORCH.items() if str(returned.dtype) == f"torch.{its}"), ""
            )
            return returned.detach().to("cpu").float().numpy(), name
        return None

    def _typed(self, bits: Any, placed: Placed) -> Any:
        return bits.view(getattr(self._torch, _TORCH[placed.dtype]))

    def _give_to_device(self, placed: Placed) -> Any:
        source = placed.buffer if placed.buffer.size else None
        if source is None:
            return self._far_on_device(placed)
        storage = self._torch.from_numpy(_signed(source)).to(self._device)
        self._on_device.append((placed, storage))
        offset = (_address(placed.view) - _address(source)) // source.itemsize
        strides = [stride // source.itemsize for stride in placed.view.strides]
        view = self._torch.as_strided(storage, placed.view.shape, strides, offset)
        return self._typed(view, placed)

    def _far_on_device(self, placed: Placed) -> Any:
        """Reserved memory has no like on a device: the whole span is allocated there."""
        strides = [stride // placed.view.itemsize for stride in placed.view.strides]
        view = self._torch.empty_strided(
            placed.view.shape,
            strides,
            dtype=self._torch.from_numpy(_signed(placed.view.copy())).dtype,
            device=self._device,
        )
        view.copy_(self._torch.from_numpy(_signed(placed.view.copy())))
        return self._typed(view, placed)


def touch(device: str) -> None:
    """Use the device once: what is wrong with it is better told before the sweep than in it."""
    importlib.import_module("torch").zeros(1, device=device)


def _signed(bits: NDArray[Any]) -> NDArray[Any]:
    """Torch knows all operations for signed integers only; the bits are the same."""
    return bits.view({1: np.int8, 2: np.int16, 4: np.int32}[bits.itemsize])


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
