"""A small writer of inline SVG whose colours come from the page's style sheet.

Drawn here rather than by a plotting library so that a page follows light, dark and print, keeps
its text selectable and needs nothing installed. Every text and attribute is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup, escape

CHARACTER_WIDTH = 0.64
"""Ample mean width of a character of the page's sans-serif font in bold, in units of its size."""


class Drawing:
    """An SVG picture of a fixed width in user units; its height is set when it is done."""

    def __init__(self, width: float, title: str, kind: str) -> None:
        self.width = width
        self._title = title
        self._kind = kind
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, css: str, tip: str = ""
    ) -> None:
        """A rectangle with rounded corners; `tip` is shown when it is pointed at."""
        tooltip = Markup("<title>{}</title>").format(tip) if tip else Markup("")
        self._parts.append(
            Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="2" class="{}">{}</rect>').format(
                _short(x), _short(y), _short(max(width, 0.5)), _short(height), css, tooltip
            )
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        self._parts.append(
            Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>').format(
                _short(x1), _short(y1), _short(x2), _short(y2), css
            )
        )

    def path(self, points: list[tuple[float, float]], css: str) -> None:
        """Straight lines through the points."""
        steps = " ".join(
            f"{'L' if i else 'M'}{_short(x)} {_short(y)}" for i, (x, y) in enumerate(points)
        )
        self._parts.append(Markup('<path d="{}" class="{}"/>').format(steps, css))

    def dot(self, x: float, y: float, radius: float, css: str, tip: str = "") -> None:
        """A filled circle."""
        tooltip = Markup("<title>{}</title>").format(tip) if tip else Markup("")
        self._parts.append(
            Markup('<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>').format(
                _short(x), _short(y), _short(radius), css, tooltip
            )
        )

    def text(self, x: float, y: float, text: str, css: str = "", anchor: str = "start") -> None:
        """A line of text whose baseline begins (or ends, or is centred) at the point."""
        self._parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(
                _short(x), _short(y), anchor, css, text
            )
        )

    def turned_text(self, x: float, y: float, text: str, degrees: float, css: str = "") -> None:
        """A line of text that begins at the point and is turned around it."""
        self._parts.append(
            Markup('<text transform="translate({} {}) rotate({})" class="{}">{}</text>').format(
                _short(x), _short(y), _short(degrees), css, text
            )
        )

    def done(self, height: float) -> Markup:
        """The picture as markup."""
        head = Markup(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" xmlns="http://www.w3.org/2000/svg">'
            "<title>{}</title>"
        ).format(self._kind, _short(self.width), _short(height), self._title)
        return head + Markup("").join(self._parts) + Markup("</svg>")


def fitted_text(text: str, width: float, size: float = 12) -> str:
    """The text, cut with an ellipsis where it would be wider than that."""
    characters = int(width / (size * CHARACTER_WIDTH))
    if len(text) <= characters:
        return text
    return text[: max(characters - 1, 1)] + "…" if characters > 1 else ""


def ticks(low: float, high: float, count: int = 5) -> Iterator[float]:
    """Round numbers inside the range, about that many."""
    step = _round_step((high - low) / max(count, 1))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    for index in range(first, min(last, first + 50) + 1):
        yield index * step


def _round_step(rough: float) -> float:
    if rough <= 0 or not math.isfinite(rough):
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)


def _short(number: float) -> str:
    return str(escape(f"{number:.1f}".rstrip("0").rstrip(".")))
