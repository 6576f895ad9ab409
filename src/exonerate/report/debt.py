"""The debt for a terminal: each standing revert, its price, its reason."""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from exonerate.core.json_access import number_at
from exonerate.core.json_types import JsonObject
from exonerate.report.json_lists import numbers_at, objects_at
from exonerate.report.phrases import interval, unsigned_percent, visible
from exonerate.report.terminal import as_text

PROVISIONAL = frozenset({"C", "D", "E"})


def debt_text(answer: JsonObject, *, width: int = 100, colour: bool = False) -> str:
    """The debt of `exonerate.debt/1` in words."""
    items = objects_at(answer, "items")
    if not items:
        return as_text("no revert stands", width=width, colour=colour)
    parts: list[RenderableType] = []
    for item in items:
        parts += [_headline(item), Padding(_reason(item), (0, 0, 0, 2)), _price(item), ""]
    return as_text(*parts, width=width, colour=colour)


def _headline(item: JsonObject) -> Text:
    line = Text(visible(item.get("knob")), style="key")
    line.append(f"  live {visible(item.get('live'))}, was {visible(item.get('was'))}", style="none")
    line.append(f"  since {visible(item.get('since'))[:16]}", style="faint")
    return line


def _reason(item: JsonObject) -> Text:
    state = visible(item.get("state"))
    words = Text(f"test of: {visible(item.get('hypothesis')) or 'nothing stated'}\n")
    words.append(state, style="bad" if state == "refuted" else "doubt")
    words.append(f": {visible(item.get('why_listed'))}")
    return words


def _price(item: JsonObject) -> RenderableType:
    prices = objects_at(item, "price")
    if not prices:
        text = Text(
            "unpriced: no evidence says what it costs, which does not mean nothing", "doubt"
        )
        return Padding(text, (0, 0, 0, 2))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("cell", "loss", "interval", "grade", "metric", "source"):
        table.add_column(name, justify="right" if name in {"cell", "loss"} else "left")
    for price in prices:
        grade = visible(price.get("grade"))
        bounds = numbers_at(price, "ci")
        table.add_row(
            visible(price.get("cell")),
            unsigned_percent(number_at(price, "loss")),
            interval(bounds) if bounds else "none",
            f"{grade} (provisional)" if grade in PROVISIONAL else grade,
            visible(price.get("metric")),
            visible(price.get("source")).rsplit("/", 1)[-1],
        )
    parts = Table.grid()
    parts.add_row(table)
    if item.get("class") == "stale":
        parts.add_row(Text("stale: measured in another environment than today's", "doubt"))
    return Padding(parts, (0, 0, 0, 2))
