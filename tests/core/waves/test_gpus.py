"""GPUs by name."""

from __future__ import annotations

import pytest

from exonerate.core.waves.gpus import GPUS, gpu_named, gpu_with_sms
from exonerate.core.waves.occupancy import limits_of
from exonerate.errors import ExonerateError


@pytest.mark.parametrize(
    ("written", "sms"),
    [
        ("RTX PRO 6000 Blackwell", 188),
        ("rtx pro 6000", 188),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 188),
        ("nvidia-h200", 132),
        ("B200", 148),
    ],
)
def test_a_gpu_is_found_however_its_name_is_written(written: str, sms: int) -> None:
    """Case, vendor and edition words do not matter."""
    assert gpu_named(written).sms == sms


def test_an_unknown_gpu_is_refused_with_the_nearest_names() -> None:
    """A typing mistake is answered with what was probably meant."""
    with pytest.raises(ExonerateError) as refused:
        gpu_named("RTX PRO 600 Blackwel")
    assert "RTX PRO 6000 Blackwell" in refused.value.hint


def test_a_name_that_fits_several_gpus_lists_them() -> None:
    """`H100` alone could be two products with different SM counts."""
    with pytest.raises(ExonerateError, match="H100 PCIe"):
        gpu_named("H100")


@pytest.mark.parametrize("name", ["", "NVIDIA", "???"])
def test_a_name_that_says_nothing_is_refused(name: str) -> None:
    """An empty name does not match every GPU."""
    with pytest.raises(ExonerateError, match="not in the table"):
        gpu_named(name)


def test_every_gpu_names_its_source_and_has_known_limits() -> None:
    """No SM count without a document, no capability without limits."""
    for gpu in GPUS:
        assert gpu.source
        assert limits_of(gpu.capability).warps >= 32


@pytest.mark.parametrize("sms", [0, -1, 10_000])
def test_an_impossible_number_of_sms_is_refused(sms: int) -> None:
    """A GPU has at least one SM and not thousands."""
    with pytest.raises(ExonerateError, match="not a GPU"):
        gpu_with_sms(sms)


def test_a_gpu_can_be_given_by_its_sms_alone() -> None:
    """A product that the table lacks can still be planned for."""
    assert gpu_with_sms(188).sms == 188
