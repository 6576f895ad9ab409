"""What `ab` and `aa` share on the command line: lists of cells, printing, exit statuses."""

from __future__ import annotations

import json
from typing import Any

import click

from exonerate.core.experiment.outcome import outcome_of
from exonerate.core.json_types import JsonObject
from exonerate.core.stats.trials import Cell
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.output import text_width
from exonerate.report.comparison import comparison_markdown, comparison_text

STATUS_OF_OUTCOME = {
    "better": exit_status.DONE,
    "flat": exit_status.DONE,
    "worse": exit_status.FINDING,
    "undecided": exit_status.INSUFFICIENT,
    "invalid": exit_status.OPERATOR,
}


class CellList(click.ParamType[tuple[Cell, ...]]):
    """`1,8,64`: concurrencies (or rates) above 0, each once."""

    name = "cells"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Cell, ...]:
        """The numbers of the list, in its order."""
        if isinstance(value, tuple):
            return value
        cells: list[Cell] = []
        for part in str(value).split(","):
            try:
                number = float(part)
            except ValueError:
                self.fail(f"`{part.strip()}` is not a number; write for example 1,8,64", param, ctx)
            if not 0 < number < float("inf"):
                self.fail(f"`{part.strip()}` is not above 0", param, ctx)
            cell: Cell = int(number) if number == int(number) else number
            if cell in cells:
                self.fail(f"`{part.strip()}` stands there twice", param, ctx)
            cells.append(cell)
        return tuple(cells)


class Margin(click.ParamType[float]):
    """`0.02`: a ratio above 0 and below 1."""

    name = "ratio"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The ratio; a percentage is refused rather than guessed at."""
        try:
            ratio = float(value)
        except ValueError:
            ratio = float("nan")
        if not 0 < ratio < 1:
            self.fail(f"`{value}` is not a ratio between 0 and 1; 0.02 means 2 %", param, ctx)
        return ratio


def print_comparison(answer: JsonObject, *, as_json: bool, markdown: bool) -> int:
    """Print the comparison on stdout and return the exit status of its outcome."""
    if as_json:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))
    elif markdown:
        click.echo(comparison_markdown(answer), nl=False)
    else:
        click.echo(comparison_text(answer, width=text_width()), nl=False)
    return STATUS_OF_OUTCOME[outcome_of(answer)]
