"""`exonerate read`: documents and result files as graded evidence."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import click

from exonerate.core.documents.answer import reading_json
from exonerate.core.documents.model import DecimalMark
from exonerate.frontends.cli import exit_status
from exonerate.jobs.read import ArmFile, read_documents
from exonerate.report.reading import reading_text


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate read PERF_PLAN.md\n"
    "  exonerate read PERF_PLAN.md trials.csv --json\n"
    "  exonerate read --arm 256=base.jsonl --arm 512=new.jsonl"
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--arm", "arms", multiple=True, metavar="NAME=FILE", help="A result file is an arm.")
@click.option("--across-tools", is_flag=True, help="Compare arms of different tools, at grade E.")
@click.option(
    "--decimal", type=click.Choice(["point", "comma"]), help="What a comma in a number is."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def read(
    files: tuple[Path, ...],
    arms: tuple[str, ...],
    across_tools: bool,
    decimal: DecimalMark | None,
    as_json: bool,
) -> int:
    """Read benchmark documents and result files as graded evidence.

    Tables are found, gains recomputed, scaling dips suspected and every number graded from A
    to E with the reasons. Grades C and D may raise a suspect; only A and B may clear or
    convict one.
    """
    if not files and not arms:
        raise click.UsageError("give a FILE, or --arm NAME=FILE twice")
    reading = read_documents(
        files, arms=[_arm(text) for text in arms], across_tools=across_tools, decimal=decimal
    )
    answer = reading_json(reading)
    if as_json:
        click.echo(json.dumps(answer, ensure_ascii=False, indent=2))
        return exit_status.DONE
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size((100, 24)).columns
    click.echo(reading_text(answer, width=width, colour=colour))
    return exit_status.DONE


def _arm(text: str) -> ArmFile:
    name, separator, path = text.partition("=")
    if not separator or not name.strip() or not path:
        raise click.BadParameter(f"`{text}` is not NAME=FILE", param_hint="--arm")
    return ArmFile(name.strip(), Path(path))
