"""Small charts for a terminal: one row of block characters per curve, on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH_MAX = 72

Curve = Sequence[tuple[int, float]]


def chart(curves: Mapping[int, Curve], quantity: str) -> str:
    """A row per target, lowest value at the bottom of the scale; empty without a curve."""
    values = [value for curve in curves.values() for _, value in curve]
    if not values:
        return ""
    low, high = min(values), max(values)
    rows = [f"{target:>9}  {_row(curve, low, high)}" for target, curve in curves.items()]
    first = next(iter(curves.values()))
    begin, end = first[0][0], first[-1][0]
    legend = f"{'target':>9}  C {begin} to {end}; {quantity} {low:.4g} (▁) to {high:.4g} (█)"
    return "\n".join([legend, *rows])


def _row(curve: Curve, low: float, high: float) -> str:
    stride = max(1, -(-len(curve) // WIDTH_MAX))
    return "".join(_block(value, low, high) for _, value in curve[::stride])


def _block(value: float, low: float, high: float) -> str:
    if high <= low:
        return BLOCKS[0]
    return BLOCKS[min(len(BLOCKS) - 1, int((value - low) / (high - low) * len(BLOCKS)))]
