"""Scaling anomalies on single experiments and on tables."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.stats.anomalies import find_anomalies, suspected_in_table
from exonerate.core.stats.intervals import FloatArray

CELLS = (48, 64, 80, 96)
AT_256 = [684.7, 719.5, 833.0, 799.3]
AT_512 = [680.6, 811.7, 842.7, 844.6]


def restarts(blocks: int, *, seed: int = 0) -> FloatArray:
    """The founding table with noise, (2 arms, blocks, cells)."""
    rng = np.random.default_rng(seed)
    level = np.log([AT_256, AT_512])[:, None, :]
    restart = rng.normal(0, 0.01, (2, blocks, 1))
    return np.asarray(level + restart + rng.normal(0, 0.003, (2, blocks, len(CELLS))))


def test_the_founding_dip_is_found_and_its_cure_named() -> None:
    """C96 below C80 at 256 is an anomaly that 512 removed; at 512 it is excluded."""
    found = find_anomalies(restarts(5), arms=("256", "512"), cells=CELLS)
    assert [(item.arm, item.cells, item.verdict, item.removed_by) for item in found] == [
        ("256", (80, 96), "anomaly", "512"),
        ("512", (80, 96), "excluded", None),
    ]
    assert found[0].drop == pytest.approx(0.04, abs=0.01)


@pytest.mark.parametrize("blocks", [1, 2])
def test_too_few_restarts_only_suspect(blocks: int) -> None:
    """With one or two restarts the same dip is suspected and no cure is claimed."""
    found = find_anomalies(restarts(blocks), arms=("256", "512"), cells=CELLS)
    assert [(item.arm, item.verdict, item.removed_by) for item in found] == [
        ("256", "suspected", None)
    ]


def test_a_cell_missing_everywhere_in_one_arm_breaks_nothing() -> None:
    """Without values there is no contrast, and the other arm is still read."""
    values = restarts(5)
    values[1, :, 3] = np.nan
    found = find_anomalies(values, arms=("256", "512"), cells=CELLS)
    assert [(item.arm, item.verdict, item.removed_by) for item in found] == [
        ("256", "anomaly", None)
    ]


def test_one_cell_has_no_neighbour() -> None:
    """A single cell cannot dip."""
    assert find_anomalies(restarts(5)[:, :, :1], arms=("256", "512"), cells=(48,)) == ()


def test_a_table_can_only_suspect() -> None:
    """One run per cell: the founding dip is suspected, drops within the margin are not."""
    cells = list(zip(CELLS, AT_256, strict=True))
    (found,) = suspected_in_table(cells, arm="256")
    assert (found.cells, found.verdict, found.removed_by) == ((80, 96), "suspected", None)
    assert found.drop == pytest.approx(0.0405, abs=0.0001)
    assert suspected_in_table([(64, 100.0), (80, 98.5)], arm="256") == ()
    assert suspected_in_table([(80, 90.0), (64, 100.0)], arm="256")[0].cells == (64, 80)
