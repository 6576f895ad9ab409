"""Steady state of one cell."""

from __future__ import annotations

import numpy as np
import pytest

from exonerate.core.stats.intervals import FloatArray
from exonerate.core.stats.steady import (
    mser_cut,
    steadiness,
    window_length_s,
    window_rates,
)


def noisy(level: FloatArray, seed: int = 0) -> FloatArray:
    """Rates around a level with 1 % of noise."""
    return np.asarray(level * np.random.default_rng(seed).normal(1, 0.01, level.size))


FLAT = np.full(40, 700.0)
WARMING = 700 * (1 - 0.4 * np.exp(-np.arange(40) / 2))
STEP = np.where(np.arange(40) < 24, 700.0, 640.0)


def kind(level: FloatArray) -> str:
    """The class of noisy rates."""
    found = steadiness(noisy(level))
    assert found is not None
    return found.kind


def test_a_level_rate_is_steady() -> None:
    """Noise around one level is steady in at least 97 of 100 cells."""
    kinds = [steadiness(noisy(FLAT, seed)) for seed in range(200)]
    assert np.mean([found is not None and found.kind == "steady" for found in kinds]) >= 0.97


def test_a_warm_up_is_cut_off() -> None:
    """A head that warms up is dropped and the rest is steady."""
    found = steadiness(noisy(WARMING))
    assert found is not None
    assert found.kind == "steady"
    assert 3 <= found.cut <= 16


@pytest.mark.parametrize(
    ("level", "expected"),
    [(np.linspace(700, 630, 40), "drifting"), (STEP, "stepped"),
     (np.where(np.arange(40) < 27, 300.0, 700.0), "still warming")],
)  # fmt: skip
def test_a_moving_rate_is_named(level: FloatArray, expected: str) -> None:
    """A slope, a step and a level reached after more than half each have their name."""
    assert kind(level) == expected


def test_few_windows_cannot_tell() -> None:
    """Below 16 windows nothing is claimed."""
    assert steadiness(FLAT[:15]) is None
    assert steadiness(np.zeros(40)) is None


def test_mser_finds_the_end_of_the_head() -> None:
    """Without noise the cut falls where the level is reached."""
    assert mser_cut(np.concatenate([[100.0, 300.0, 500.0], np.full(20, 700.0)])) == 3


def test_tokens_fall_into_the_windows_they_came_in() -> None:
    """A request over two windows gives each its share; the last, cut window is dropped."""
    rates = window_rates([(0.0, 10.0, 100.0), (5.0, 10.0, 50.0)], duration_s=12.0, window_s=5.0)
    assert rates.tolist() == [10.0, 20.0]
    assert window_rates([], duration_s=60.0, window_s=5.0).size == 0
    assert window_rates([(0.0, 1.0, 5.0)], duration_s=4.0, window_s=5.0).size == 0


def test_windows_hold_twenty_requests() -> None:
    """A window lasts twenty mean requests, five seconds at least."""
    assert window_length_s(0.01) == 5.0
    assert window_length_s(2.0) == 40.0
