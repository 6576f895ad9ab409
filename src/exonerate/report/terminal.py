"""Rich renderables as text, for a terminal or a pipe."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType
from rich.theme import Theme

WIDTH_MIN = 40
WIDTH_MAX = 120

THEME = Theme(
    {
        "good": "green",
        "bad": "red",
        "doubt": "yellow",
        "faint": "dim",
        "key": "bold",
        "title": "bold cyan",
    }
)


def as_text(*parts: RenderableType, width: int = 100, colour: bool = False) -> str:
    """The parts below one another; control characters only where colour is wanted."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=min(max(width, WIDTH_MIN), WIDTH_MAX),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        emoji=False,
        markup=False,
        theme=THEME,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    lines = buffer.getvalue().split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")
