"""Rounding to a format and units in the last place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.errors import ExonerateError
from exonerate.kernels.number_formats import (
    FORMATS,
    bf16_bits,
    fp8_bits,
    from_bf16_bits,
    from_fp8_bits,
    number_format,
    round_to,
    ulp,
)


@given(st.floats(width=64, allow_nan=True, allow_infinity=True))
def test_rounding_to_fp16_is_what_hardware_does(value: float) -> None:
    """Every double rounds to the half that NumPy's own conversion gives, denormals included."""
    with np.errstate(over="ignore"):
        expected = np.array([value], np.float64).astype(np.float16).astype(np.float32)
    assert np.array_equal(round_to(np.array([value]), "fp16"), expected, equal_nan=True)


@given(st.floats(width=32, allow_nan=False))
def test_fp32_is_left_alone(value: float) -> None:
    """A number that is on the grid already does not move."""
    assert round_to(np.array([value]), "fp32")[0] == np.float32(value)


@given(st.floats(width=32, allow_nan=False), st.sampled_from(sorted(FORMATS)))
def test_rounding_twice_is_rounding_once(value: float, name: str) -> None:
    """What rounding gives lies on the grid."""
    once = round_to(np.array([value]), name)
    assert np.array_equal(round_to(once, name), once, equal_nan=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0 + 2**-8, 1.0), (1.0 + 3 * 2**-8, 1.0 + 2**-6), (3.4e38, np.inf), (1e-40, 1.0101e-40)],
)
def test_bf16_rounds_ties_to_even(value: float, expected: float) -> None:
    """Half a unit goes to the even neighbour, too large goes to infinity, denormals stay."""
    assert round_to(np.array([value]), "bf16")[0] == pytest.approx(expected, rel=1e-3)


def test_bf16_bits_are_the_upper_half_of_float32() -> None:
    """Bit patterns of bf16 values survive the way there and back, NaN and infinity too."""
    values = round_to(np.array([0.0, -1.5, 3e38, 1e-40, np.inf, -np.inf]), "bf16")
    assert np.array_equal(from_bf16_bits(bf16_bits(values)), values)
    assert np.isnan(from_bf16_bits(bf16_bits(np.array([np.nan], np.float32)))[0])


def test_an_ulp_is_the_distance_to_the_next_number() -> None:
    """Units in the last place agree with NumPy's spacing where NumPy knows the format."""
    values = np.array([1.0, 1.99, 2.0, 1e-3, 6e4, 1e-7], np.float64)
    assert np.array_equal(ulp(values, "fp16"), np.spacing(values.astype(np.float16)))
    assert np.array_equal(ulp(values, "fp32"), np.spacing(values.astype(np.float32)))


def test_fp8_has_no_infinity() -> None:
    """Too large for e4m3 is NaN."""
    rounded = round_to(np.array([448.0, 500.0, 0.1]), "fp8")
    assert rounded[0] == 448.0
    assert np.isnan(rounded[1])
    assert rounded[2] == pytest.approx(0.1, rel=2**-4)


def test_fp8_bits_come_back_as_they_went() -> None:
    """All 256 patterns: each number has its own bits, and both NaNs stay NaN."""
    bits = np.arange(256, dtype=np.uint8)
    again = fp8_bits(from_fp8_bits(bits))
    assert np.array_equal(again[~np.isnan(from_fp8_bits(bits))], bits[(bits & 0x7F) != 0x7F])
    assert np.count_nonzero(np.isnan(from_fp8_bits(bits))) == 2
    assert from_fp8_bits(np.array([0x38, 0x7E, 0x01], np.uint8)).tolist() == [1.0, 448.0, 2**-9]


def test_an_unknown_format_names_the_known_ones() -> None:
    """A typing error is answered with what can be written."""
    with pytest.raises(ExonerateError) as error:
        number_format("fp64x")
    assert "fp16" in error.value.hint
