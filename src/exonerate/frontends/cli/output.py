"""What every command shares in how it prints: JSON, colour, width, progress."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping

import click

from exonerate.core.json_types import Json

WIDTH_MAX = 120


def forgive_letters() -> None:
    """Let stdout and stderr show `?` for a letter that their encoding lacks, and not fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_json(answer: Json) -> None:
    """The answer as JSON on stdout; escaped where the encoding lacks letters."""
    plain = str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "") != "utf8"
    click.echo(json.dumps(_finite(answer), ensure_ascii=plain, indent=2, allow_nan=False))


def _finite(value: Json) -> Json:
    """The same with `null` for numbers that JSON does not have (RFC 8259, 6)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def colour_wanted() -> bool:
    """Whether stdout is a terminal that may show colour."""
    # A program started with a closed stdout has none.
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    return at_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def text_width() -> int:
    """Columns for a report on stdout."""
    return min(WIDTH_MAX, shutil.get_terminal_size((100, 24)).columns)


class ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, plain lines elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console  # slow to import, and `main` needs this module

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
