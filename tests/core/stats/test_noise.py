"""The noise that an A/A shows."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.stats.noise import noise_of


def test_the_parts_of_the_noise_are_recovered() -> None:
    """Restart and cell noise, a position effect and a drift come back as they were put in."""
    rng = np.random.default_rng(0)
    blocks, cells = 2000, 4
    values = rng.normal(0, 0.02, (blocks, 2, 1)) + rng.normal(0, 0.01, (blocks, 2, cells))
    values[:, 1] -= 0.003
    values += 0.0001 * np.arange(blocks)[:, None, None]
    found = noise_of(values)
    assert found is not None
    assert found.restart_sd == pytest.approx(0.02, rel=0.05)
    assert found.within_sd == pytest.approx(0.01, rel=0.05)
    assert found.cell_value_sd == pytest.approx(np.hypot(0.02, 0.01), rel=0.05)
    assert found.position_effect == pytest.approx(-0.003, abs=0.002)
    assert found.drift_per_block == pytest.approx(0.0001, abs=0.0001)


def test_one_cell_cannot_split_the_noise() -> None:
    """With one cell all noise is the restart's; blocks with a gap are left out."""
    values = np.array([[[0.0], [0.02]], [[0.0], [-0.02]], [[np.nan], [0.5]]])
    found = noise_of(values)
    assert found is not None
    assert found.blocks == 2
    assert found.within_sd == 0.0
    assert found.cell_value_sd == pytest.approx(0.02 / np.sqrt(2))


def test_one_block_has_no_noise_figure() -> None:
    """One block says nothing."""
    assert noise_of(np.zeros((1, 2, 3))) is None
