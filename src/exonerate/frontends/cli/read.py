"""`exonerate read`: documents and result files as graded evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exonerate.compose import system_clock
from exonerate.core.documents.answer import reading_json
from exonerate.core.documents.model import Reading
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.jobs.case import needed_case
from exonerate.jobs.read import ArmFile, read_documents, record_reading
from exonerate.report.reading import reading_text


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate read PERF_PLAN.md\n"
    "  exonerate read PERF_PLAN.md trials.csv --json\n"
    "  exonerate read --arm 256=base.jsonl --arm 512=new.jsonl\n"
    "  exonerate read PERF_PLAN.md --case case-3fa9c1"
)
@case_options
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--arm", "arms", multiple=True, metavar="NAME=FILE", help="A result file is an arm.")
@click.option("--across-tools", is_flag=True, help="Compare arms of different tools, at grade E.")
@click.option(
    "--decimal", type=click.Choice(["point", "comma"]), help="What a comma in a number is."
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def read(
    where: CaseOptions, files: tuple[Path, ...], *, arms: tuple[str, ...], as_json: bool, **how: Any
) -> int:
    """Read benchmark documents and result files as graded evidence.

    Tables are found, gains recomputed, scaling dips suspected and every number graded from A
    to E with the reasons. Grades C and D may raise a suspect; only A and B may clear or
    convict one. Nothing is written unless a case is named.
    """
    if not files and not arms:
        raise click.UsageError("give a FILE, or --arm NAME=FILE twice")
    reading = read_documents(files, arms=[_arm(text) for text in arms], **how)
    if where.case is not None:
        _record(reading, where)
    answer = reading_json(reading)
    if as_json:
        print_json(answer)
    else:
        click.echo(reading_text(answer, width=text_width(), colour=colour_wanted()))
    return exit_status.DONE


def _record(reading: Reading, where: CaseOptions) -> None:
    """Add what was read to the case that was named; a reading without one writes nothing."""
    ledger = where.open_ledger()
    case = needed_case(ledger, where.case)
    deployment = where.deployment()
    knobs = [knob.name for knob in deployment.knobs] if deployment is not None else []
    added = record_reading(reading, ledger=ledger, clock=system_clock(), case=case.id, knobs=knobs)
    for identity in added:
        click.echo(f"added {identity} to case {case.id}", err=True)
    if not added:
        click.echo(f"case {case.id} holds this already", err=True)


def _arm(text: str) -> ArmFile:
    name, separator, path = text.partition("=")
    if not separator or not name.strip() or not path:
        raise click.BadParameter(f"`{text}` is not NAME=FILE", param_hint="--arm")
    return ArmFile(name.strip(), Path(path))
