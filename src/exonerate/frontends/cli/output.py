"""What every command shares in how it prints: JSON, colour, width, progress."""

from __future__ import annotations

import json
import os
import shutil
import sys

import click
from rich.console import Console

from exonerate.core.json_types import Json

WIDTH_MAX = 120


def print_json(answer: Json) -> None:
    """The answer as JSON on stdout."""
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def colour_wanted() -> bool:
    """Whether stdout is a terminal that may show colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def text_width() -> int:
    """Columns for a report on stdout."""
    return min(WIDTH_MAX, shutil.get_terminal_size((100, 24)).columns)


class ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True, highlight=False, no_color="NO_COLOR" in os.environ)
        self._live = self._console.is_terminal

    def __call__(self, text: str, fraction: float | None) -> None:
        """Show what is being done now."""
        if self._quiet:
            return
        share = "" if fraction is None else f"{fraction:4.0%} "
        if self._live:
            room = max(20, self._console.width - 1)
            click.echo(f"\r\x1b[2K{(share + text)[:room]}", err=True, nl=False)
        else:
            click.echo(f"{share}{text}", err=True)

    def done(self) -> None:
        """Leave the terminal's line clean."""
        if self._live and not self._quiet:
            click.echo("\r\x1b[2K", err=True, nl=False)
