"""A benchmark as one HTML page: the table, throughput and latency over load, tokens over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup, escape

from exonerate.core.json_types import JsonObject
from exonerate.report.bench import bench_markdown, load_of
from exonerate.report.svg import Drawing, ticks

WIDTH, HEIGHT = 860.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 20.0, 26.0, 40.0
Point = tuple[float, float]

_CSS = Markup("""
:root { color-scheme: light dark; --ink:#171b21; --soft:#5a6472; --rule:#dfe3e9;
  --a:#0b6bcb; --b:#b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink:#e8ebef; --soft:#9aa5b3; --rule:#2c333c; --a:#63b3ff; --b:#ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--rule); text-align: right;
  white-space: nowrap; }
.invalid { color: var(--b); font-weight: 650; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--ink); }
svg .faint { fill: var(--soft); } .grid { stroke: var(--rule); } .line-a { stroke: var(--a);
  fill: none; stroke-width: 2; } .line-b { stroke: var(--b); fill: none; stroke-width: 2; }
.dot-a { fill: var(--a); } .dot-b { fill: var(--b); }
""")


def bench_html(answer: JsonObject, timelines: Sequence[Sequence[Point]] = ()) -> str:
    """The whole page; `timelines` holds tokens over time for each cell."""
    tree: Any = answer
    title = f"Benchmark of {tree['header']['url']}"
    parts = [
        Markup("<h1>{}</h1>").format(title),
        _validity(tree),
        _table(tree),
        *_plots(tree),
        *[
            _timeline(cell["load"], points)
            for cell, points in zip(tree["cells"], timelines, strict=False)
        ],
    ]
    return str(
        Markup(
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            "<title>{}</title><style>{}</style><body>{}</body></html>\n"
        ).format(title, _CSS, Markup("\n").join(parts))
    )


def _validity(tree: Any) -> Markup:
    if tree["valid"]:
        return Markup("")
    return Markup('<p class="invalid">invalid: {}</p>').format(tree["invalid"])


def _table(tree: Any) -> Markup:
    """The same rows and notes as in Markdown, so that both always agree."""
    lines = bench_markdown(tree).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    notes = [line[2:] for line in lines if line.startswith("- ")]
    head = Markup("").join(Markup("<th>{}</th>").format(text) for text in rows[0])
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(text) for text in row)
        )
        for row in rows[2:]
    )
    items = Markup("").join(Markup("<li>{}</li>").format(note) for note in notes)
    return Markup("<table><tr>{}</tr>{}</table><ul>{}</ul>").format(head, body, items)


def _plots(tree: Any) -> list[Markup]:
    throughput = _series(tree, lambda cell: cell["output_tokens_per_s"])
    ttft = _series(tree, lambda cell: cell["ttft_ms"]["p50"]["value"])
    tail = _series(tree, lambda cell: cell["ttft_ms"]["p99"]["value"])
    itl = _series(tree, lambda cell: cell["itl_ms"]["p50"]["value"])
    return [
        _plot("Output tokens a second over load", {"a": throughput}),
        _plot("TTFT in ms over load: median (blue), p99 (red)", {"a": ttft, "b": tail}),
        _plot("ITL in ms over load, median", {"a": itl}),
    ]


def _series(tree: Any, value_of: Callable[[Any], float | None]) -> list[Point]:
    points = [(load_of(cell["load"]), value_of(cell)) for cell in tree["cells"]]
    return sorted((load, value) for load, value in points if load is not None and value is not None)


def _timeline(name: str, points: Sequence[Point]) -> Markup:
    rates = [(second, count * 10.0) for second, count in points]
    return _plot(f"{name}: output events a second over time in s (a gap is a stall)", {"a": rates})


def _plot(title: str, series: dict[str, list[Point]]) -> Markup:
    points = [point for line in series.values() for point in line]
    if not points:
        return Markup("")
    drawing = Drawing(WIDTH, title, "bench")
    drawing.text(LEFT, 16, title, "faint")
    x = _scale([point[0] for point in points], LEFT, WIDTH - RIGHT)
    y = _scale([0.0, *[point[1] for point in points]], HEIGHT - BOTTOM, TOP)
    top = max(point[1] for point in points)
    for tick in ticks(0.0, top or 1.0, 4):
        drawing.line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid")
        drawing.text(LEFT - 6, y(tick) + 4, f"{tick:g}", "faint", "end")
    for tick in ticks(min(point[0] for point in points), max(point[0] for point in points), 8):
        drawing.text(x(tick), HEIGHT - BOTTOM + 18, f"{tick:g}", "faint", "middle")
    for style, line in series.items():
        drawing.path([(x(at), y(value)) for at, value in line], f"line-{style}")
        if len(line) <= 40:
            for at, value in line:
                drawing.dot(x(at), y(value), 3.5, f"dot-{style}", str(escape(f"{at:g}: {value:g}")))
    return drawing.done(HEIGHT)


def _scale(values: Sequence[float], begin: float, end: float) -> Callable[[float], float]:
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return begin + (value - low) / span * (end - begin)

    return place
