"""Throughput per concurrency as a document states it, a suspected dip marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from exonerate.report.experiments import DipView, TableView
from exonerate.report.phrases import load, number, unsigned_percent
from exonerate.report.svg import CHARACTER_WIDTH, Drawing, fitted_text, ticks

HEIGHT = 300
NARROW = 520
ARM_STYLES = ("a", "b")
Place = Callable[[float], float]


def throughput_plot(table: TableView, width: float = 900) -> Markup:
    """A line per arm over the loads; dips of more than the margin are drawn over the line."""
    title = f"{table.metric} per {table.cell_kind}, " + " and ".join(table.arms)
    drawing = Drawing(width, title, "throughput")
    series = [
        [(cell, values[place]) for cell, values in table.values if len(values) > place]
        for place in range(min(len(table.arms), 2))
    ]
    known = [[(cell, value) for cell, value in points if value is not None] for points in series]
    places = _places(known, width, table.arms)
    if places is None:
        drawing.text(4, 20, "no values to draw", "faint")
        return drawing.done(30)
    x, y = places
    _axes(drawing, known, x, y, table)
    for style, arm, points in zip(ARM_STYLES, table.arms, known, strict=False):
        drawing.path([(x(cell), y(value)) for cell, value in points], f"arm arm-{style}")
        for cell, value in points:
            tip = f"{arm} at {load(cell)}: {number(value)}"
            drawing.dot(x(cell), y(value), 4, f"dot-{style}", tip)
    _arm_names(drawing, known, table.arms, x, y)
    for dip in table.dips:
        _dip(
            drawing,
            dip,
            dict(known[table.arms.index(dip.arm)]) if dip.arm in table.arms else {},
            x,
            y,
        )
    return drawing.done(HEIGHT)


def _places(
    series: Sequence[Sequence[tuple[float, float]]], width: float, arms: Sequence[str]
) -> tuple[Place, Place] | None:
    points = [point for points in series for point in points]
    if not points:
        return None
    names = max((len(arm) for arm in arms), default=3)
    right = width - min(names * 13 * CHARACTER_WIDTH + 16, width * 0.25)
    loads, values = [cell for cell, _ in points], [value for _, value in points]
    low, high = min(values), max(values)
    air = (high - low) * 0.15 or abs(high) * 0.05 or 1.0
    low, high = low - air, high + air
    first, last = min(loads), max(loads)
    stretch = (last - first) or 1.0

    def x(cell: float) -> float:
        return 58 + (cell - first) / stretch * (right - 58 - 14) + 7

    def y(value: float) -> float:
        return HEIGHT - 46 - (value - low) / (high - low) * (HEIGHT - 46 - 26)

    return x, y


def _axes(
    drawing: Drawing,
    series: Sequence[Sequence[tuple[float, float]]],
    x: Place,
    y: Place,
    table: TableView,
) -> None:
    values = [value for points in series for _, value in points]
    loads = sorted({cell for points in series for cell, _ in points})
    right = x(loads[-1]) + 7
    spread = (max(values) - min(values)) * 0.15
    for tick in ticks(min(values) - spread, max(values) + spread, 5):
        drawing.line(58, y(tick), right, y(tick), "grid")
        drawing.text(52, y(tick) + 4, number(tick).removesuffix(".0"), "faint", "end")
    for cell in loads:
        drawing.line(x(cell), HEIGHT - 46, x(cell), HEIGHT - 41, "rail")
        drawing.text(x(cell), HEIGHT - 27, load(cell), "faint", "middle")
    drawing.text(58, 14, f"{table.metric} (axis does not begin at 0)", "faint")
    drawing.text(right, HEIGHT - 8, table.cell_kind, "faint", "end")


def _arm_names(
    drawing: Drawing,
    series: Sequence[Sequence[tuple[float, float]]],
    arms: Sequence[str],
    x: Place,
    y: Place,
) -> None:
    """Each arm's name at the end of its line; names that would touch are moved apart."""
    taken: list[float] = []
    for style, arm, points in zip(ARM_STYLES, arms, series, strict=False):
        if not points:
            continue
        cell, value = points[-1]
        place = y(value) + 4
        while any(abs(place - other) < 15 for other in taken):
            place += 15
        taken.append(place)
        drawing.text(
            x(cell) + 10, place, fitted_text(arm, drawing.width - x(cell) - 12), f"name-{style}"
        )


def _dip(drawing: Drawing, dip: DipView, points: dict[float, float], x: Place, y: Place) -> None:
    low, high = dip.cells
    if low not in points or high not in points:
        return
    drawing.path([(x(low), y(points[low])), (x(high), y(points[high]))], "dip")
    words = f"−{unsigned_percent(dip.drop)} {dip.verdict}"
    room = drawing.width < NARROW
    middle = (x(low) + x(high)) / 2
    drawing.text(middle, y(points[high]) + (22 if room else 20), words, "dip-label", "middle")
