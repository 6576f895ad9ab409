"""Terminal charts."""

from __future__ import annotations

from exonerate.report.waves_chart import BLOCKS, chart


def test_curves_share_one_scale() -> None:
    """The lowest value of all is the lowest block, the highest the highest."""
    text = chart({256: [(8, 1.0), (9, 2.0)], 512: [(8, 3.0), (9, 8.0)]}, "time")
    legend, first, second = text.splitlines()
    assert legend.endswith("C 8 to 9; time 1 (▁) to 8 (█)")
    assert first.split() == ["256", "▁▂"]
    assert second.split() == ["512", "▃█"]


def test_a_long_curve_fits_a_terminal() -> None:
    """Points are thinned out, not wrapped."""
    row = chart({1: [(c, float(c)) for c in range(500)]}, "time").splitlines()[1]
    assert len(row) <= 90


def test_a_constant_curve_is_flat() -> None:
    """No division by a range of nothing."""
    assert chart({1: [(8, 5.0), (9, 5.0)]}, "time").splitlines()[1].split()[1] == BLOCKS[0] * 2


def test_nothing_is_drawn_of_nothing() -> None:
    """An empty plan has no chart."""
    assert chart({}, "time") == ""
