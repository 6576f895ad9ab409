"""Arrays handed to a target as torch tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from exonerate.kernels.prover.placement import decode, place
from exonerate.kernels.prover.runner import Capabilities
from exonerate.kernels.prover.torch_arrays import Hands

TORCH = Capabilities(arrays="torch", device="cpu")


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "padded", "far"])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_a_tensor_shares_the_placed_memory(layout: str, dtype: str) -> None:
    """Strides and values are those that were placed; writing the tensor writes the array."""
    values = np.arange(2 * 3 * 2 * 8, dtype=np.float32).reshape(2, 3, 2, 8)
    placed = place("k", values, dtype, layout=layout)
    tensor = Hands(TORCH).give(placed)
    assert (
        tensor.dtype
        == {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]
    )
    assert tensor.float().numpy().tolist() == values.tolist()
    tensor[1, 2, 1, 7] = 5.0
    assert decode(placed.view, dtype)[1, 2, 1, 7] == 5.0


@pytest.mark.parametrize("layout", ["contiguous", "padded", "far"])
def test_what_is_written_on_a_device_comes_back(layout: str) -> None:
    """The way over a device keeps strides and guards; a write beside the array is seen."""
    values = np.ones((2, 3, 2, 8), np.float32)
    placed = place("k" if layout == "far" else "out", values, "fp16", layout=layout)
    hands = Hands(TORCH)
    tensor = hands._give_to_device(placed)
    assert tensor.float().numpy().tolist() == values.tolist()
    assert [stride * 2 for stride in tensor.stride()] == list(placed.view.strides)
    if layout != "far":
        torch.as_strided(tensor, (1,), (1,), tensor.storage_offset() - 1)[0] = 0
        hands.take_back()
        assert placed.disturbance(contents=False) == "1 elements around `out` were written"


def test_no_room_on_the_device_is_told_apart() -> None:
    """A device that cannot hold an input is no failure of the target."""

    class Full(Hands):
        def give(self, placed: object) -> None:
            raise RuntimeError("CUDA out of memory. Tried to allocate 8 GiB")

    placed = place("q", np.ones((1, 1, 8), np.float32), "fp32", layout="padded")
    with pytest.raises(MemoryError, match="out of memory"):
        Full(TORCH).give_all([placed])


def test_only_floating_arrays_are_answers() -> None:
    """Integers and lists are no output."""
    hands = Hands(TORCH)
    assert hands.read(torch.tensor([1, 2])) is None
    assert hands.read([1.0, 2.0]) is None
    taken = hands.read(torch.tensor([1.5], dtype=torch.bfloat16))
    assert taken is not None
    assert (taken[0].tolist(), taken[1]) == ([1.5], "bf16")
