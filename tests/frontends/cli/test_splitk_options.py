"""Options of `plan` and `fit`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.splitk_options import (
    DeviceOptions,
    device_from,
    no_matplotlib,
    plot_form,
    whole_numbers,
    write_plot,
)

PLAIN = DeviceOptions(None, None, "1", None, None, "independent")


def test_a_gpu_that_nobody_named_is_marked_as_assumed() -> None:
    """The default is said, not hidden."""
    assert device_from(PLAIN).gpu.assumed
    assert not device_from(replace(PLAIN, gpu="B200")).gpu.assumed


def test_sms_with_a_capability_know_their_occupancy() -> None:
    """A GPU outside the table, described by two numbers."""
    found = device_from(
        replace(PLAIN, sms=100, capability="12.0", ctas_per_sm="auto", kernel="208,22528,128")
    )
    assert found.slots == 200


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"gpu": "B200", "sms": 148}, "twice"),
        ({"gpu": "RTX 9090"}, "not in the table"),
        ({"ctas_per_sm": "auto"}, "needs the compiled kernel"),
        ({"ctas_per_sm": "many"}, "not a whole number"),
        ({"ctas_per_sm": "0"}, "CTAs per SM is 0"),
        ({"kernel": "1,2"}, "not three numbers"),
        ({"kernel": "1,2,x"}, "not a whole number"),
    ],
)
def test_devices_that_make_no_sense_are_refused(changed: dict[str, object], said: str) -> None:
    """Each says which option is meant."""
    with pytest.raises(ExonerateError, match=said):
        device_from(replace(PLAIN, **changed))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("48", (48,)),
        ("48,64,48", (48, 64)),
        ("8:12", (8, 9, 10, 11, 12)),
        ("8:20:6,96", (8, 14, 20, 96)),
    ],
)
def test_lists_and_ranges_can_be_mixed(text: str, numbers: tuple[int, ...]) -> None:
    """In the order in which they were written."""
    assert whole_numbers(text, "--concurrency") == numbers


@pytest.mark.parametrize("text", ["", "x", "9:8", "1:9:0", "1:2:3:4", "1:999999999", "4.5"])
def test_other_texts_are_refused(text: str) -> None:
    """With the option that was meant."""
    with pytest.raises(ExonerateError, match="--concurrency"):
        whole_numbers(text, "--concurrency")


def test_plots_are_svg_or_png(tmp_path: Path) -> None:
    """By the file's name; an unwritable place is said to be one."""
    assert (plot_form(Path("a.SVG")), plot_form(Path("b.png"))) == ("svg", "png")
    with pytest.raises(ExonerateError, match="neither SVG nor PNG"):
        plot_form(Path("a.pdf"))
    with pytest.raises(ExonerateError, match="cannot be written"):
        write_plot(tmp_path / "no" / "such" / "folder.svg", b"")


def test_a_missing_extra_is_named() -> None:
    """What to install."""
    assert "exonerate[plots]" in no_matplotlib().hint
