"""Effects per cell with their intervals, and the band within which arms count as equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from exonerate.report.experiments import CellView
from exonerate.report.phrases import interval, percent
from exonerate.report.svg import Drawing, ticks

ROW_HEIGHT = 28
NARROW = 520
MARGIN = 0.02
"""Effects within 2 % count as flat, the default margin of `ab`."""


def forest_plot(
    cells: Sequence[CellView], *, kind: str, width: float = 900, margin: float = MARGIN
) -> Markup:
    """One row per cell, the primary band among them; no interval is drawn where there is none."""
    drawing = Drawing(width, f"Effect per {kind} with its interval", "forest")
    narrow = width < NARROW
    left, right = (96.0, width - 14) if narrow else (150.0, width - 270)
    low, high = _range(cells, margin)
    step = ROW_HEIGHT + (18 if narrow else 0)
    bottom = 10.0 + step * len(cells)

    def x(effect: float) -> float:
        return left + (effect - low) / (high - low) * (right - left)

    drawing.rect(x(-margin), 6, x(margin) - x(-margin), bottom - 6, "margin", "counts as flat")
    for tick in ticks(low, high, 4 if narrow else 7):
        drawing.line(x(tick), 6, x(tick), bottom, "grid")
        label = percent(tick, 0 if (high - low) > 0.05 else 1)
        drawing.text(x(tick), bottom + 16, label, "faint", "middle")
    drawing.line(x(0), 6, x(0), bottom, "zero")
    for number, cell in enumerate(cells):
        middle = 10 + number * step + ROW_HEIGHT / 2
        name = f"{kind} {cell.name}"
        if cell.cell is None:
            name = cell.name.split(" (")[0] if narrow else cell.name
        drawing.text(left - 10, middle + 4, name, "label", "end")
        _effect(drawing, cell, x, middle)
        words = f"{percent(cell.effect)} {interval(cell.ci)}  {cell.verdict}"
        place = (left, middle + 22) if narrow else (right + 16, middle + 4)
        drawing.text(*place, words, f"v-{_mood(cell.verdict)}")
    return drawing.done(bottom + 26)


def _effect(drawing: Drawing, cell: CellView, x: Callable[[float], float], middle: float) -> None:
    css = f"m-{_mood(cell.verdict)}"
    if cell.ci is not None:
        begin, end = x(cell.ci[0]), x(cell.ci[1])
        drawing.line(begin, middle, end, middle, f"whisker {css}")
        for edge in (begin, end):
            drawing.line(edge, middle - 5, edge, middle + 5, f"whisker {css}")
    if cell.effect is not None:
        drawing.dot(x(cell.effect), middle, 5, css, f"{cell.name}: {percent(cell.effect)}")


def _mood(verdict: str) -> str:
    known = {"better": "good", "worse": "bad", "flat": "flat", "invalid": "bad"}
    return known.get(verdict, "doubt")


def _range(cells: Sequence[CellView], margin: float) -> tuple[float, float]:
    """From the lowest to the highest bound with some air, zero and the margin inside."""
    ends = [-margin, margin]
    for cell in cells:
        ends += [] if cell.effect is None else [cell.effect]
        ends += list(cell.ci or ())
    low, high = max(min(ends), -1.0), min(max(ends), 5.0)
    air = (high - low) * 0.06
    return low - air, high + air
