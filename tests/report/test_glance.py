"""The case at a glance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.report.experiments import CureCorner, CureView
from exonerate.report.glance import cure_finding, knob_is_irrelevant, tiles
from exonerate.report.story import Story


def cure(*done: bool | None) -> CureView:
    """The four corners in order: faulty and repaired, each with the knob both ways."""
    corners = [
        CureCorner(fault, knob, completed, "", "")
        for (fault, knob), completed in zip(
            [(f, k) for f in ("faulty", "repaired") for k in ("reverted", "restored")],
            done,
            strict=False,
        )
    ]
    return CureView("edge", "KNOB", tuple(corners), "")


@pytest.mark.parametrize(
    ("corners", "expected"),
    [
        ((False, False, True, True), True),
        ((False, True, True, True), False),
        ((False, False, False, False), False),
        ((False, False, True), None),
        ((False, False, True, None), None),
    ],
)
def test_the_knob_is_irrelevant_only_with_all_four_corners(
    corners: tuple[bool | None, ...], expected: bool | None
) -> None:
    """Completion must follow the fault alone, in corners that were all tried."""
    assert knob_is_irrelevant(cure(*corners)) is expected
    assert ("not all corners" in cure_finding(cure(*corners))) == (expected is None)


def test_tiles_say_who_who_not_and_what_it_costs(story: Story) -> None:
    """The four tiles of the founding case."""
    shown = {tile.what: tile.text for tile in tiles(story)}
    assert shown == {
        "Convicted": "proxy edge",
        "Cleared": "engine and SGLANG_SM120_MMA_TARGET_CTAS",
        "Standing debt": "up to 10.6 % at 64",
        "Cure": "confirmed",
    }


def test_an_unpriced_debt_is_not_zero(story: Story) -> None:
    """A standing revert without a price is called unpriced."""
    unpriced = replace(story, debt=(replace(story.debt[0], prices=()),))
    assert "unpriced" in {tile.text for tile in tiles(unpriced)}
