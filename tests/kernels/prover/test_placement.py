"""Arrays between guards: what a target writes beside its own is seen."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.kernels.prover.placement import LAYOUTS, decode, place


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_a_placed_array_holds_its_values_in_any_layout(layout: str, dtype: str) -> None:
    """The values read through the view are the values put in, and nothing is disturbed."""
    values = np.arange(2 * 3 * 4 * 8, dtype=np.float32).reshape(2, 3, 4, 8)
    placed = place("k", values, dtype, layout=layout)
    assert np.array_equal(decode(placed.view, dtype), values)
    assert placed.disturbance(contents=True) == ""


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "padded"])
def test_a_write_beside_the_array_is_seen(layout: str) -> None:
    """One element before, one after, and the gaps of a padded layout are guarded."""
    values = np.ones((2, 3, 1, 8), np.float32)
    for place_of in (63, -64):
        placed = place("out", values, "fp32", layout=layout)
        placed.buffer[place_of] = 0
        assert placed.disturbance(contents=False) == "1 elements around `out` were written"


def test_a_gap_of_a_padded_layout_is_guarded() -> None:
    """Writing over the end of an innermost row is seen though it stays inside the buffer."""
    placed = place("out", np.ones((2, 2, 8), np.float32), "fp32", layout="padded")
    placed.buffer[64 + 8] = 0
    assert "around `out`" in placed.disturbance(contents=False)


def test_a_changed_input_is_seen() -> None:
    """An input that a target scales in place is told apart from guards."""
    placed = place("q", np.ones((1, 2, 4), np.float32), "fp16", layout="contiguous")
    placed.view[0, 0, 0] = 0
    assert placed.disturbance(contents=True) == "`q` was changed"


def test_the_far_layout_passes_int32() -> None:
    """The last sequence lies more than 2**31 elements after the first one."""
    placed = place("k", np.ones((3, 2, 1, 4), np.float32), "fp32", layout="far")
    assert placed.view.strides[0] // 4 * 2 >= 2**31
