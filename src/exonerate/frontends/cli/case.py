"""`exonerate case`: the ledger by hand."""

from __future__ import annotations

from pathlib import Path

import click

from exonerate.compose import deciders, system_clock
from exonerate.core.case.case_json import case_json, cases_json
from exonerate.core.case.model import SYMPTOMS, Case
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import (
    CaseOptions,
    case_options,
    case_to_write,
    ledger_options,
)
from exonerate.frontends.cli.case_report import report
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.jobs.case import CaseBook, Claim, check_claim, check_suspect, list_cases, needed_case
from exonerate.jobs.ledger_run import verify as verify_chain
from exonerate.jobs.read import read_documents, record_reading
from exonerate.report.case_overview import case_overview_text, cases_text
from exonerate.report.json_lists import objects_at
from exonerate.report.verification import verification_text

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


@click.group()
def case() -> None:
    """Open, show and verify cases; name suspects; add evidence.

    A case is folded from append-only records. States and verdicts are computed from evidence;
    none can be typed in.
    """


case.add_command(report)


@case.command("open", epilog='\b\nExample:\n  exonerate case open "Agent hangs" --symptom hang')
@case_options
@click.argument("title")
@click.option("--symptom", type=click.Choice(SYMPTOMS), help="What the victim suffers from.")
def open_case(where: CaseOptions, title: str, symptom: str | None) -> int:
    """Open a case and print its id."""
    _, book = where.open_book()
    deployment = where.deployment()
    name = deployment.name if deployment is not None else None
    click.echo(book.open(title, symptom=symptom, deployment=name))
    return exit_status.DONE


@case.command("close", epilog='\b\nExample:\n  exonerate case close --why "proxy replaced"')
@case_options
@click.option("--why", required=True, help="What ended it.")
def close_case(where: CaseOptions, why: str) -> int:
    """Close a case; what stands of its reverts stays in `exonerate debt`."""
    ledger, book = where.open_book()
    book.close(needed_case(ledger, where.case), why)
    return exit_status.DONE


@case.command("list", epilog="\b\nExample:\n  exonerate case list --json")
@ledger_options
@json_option
def list_all(where: CaseOptions, as_json: bool) -> int:
    """List every case, those with something unfinished first."""
    cases = list_cases(where.open_ledger(), as_of=system_clock().wall())
    if as_json:
        print_json(cases_json(cases))
    else:
        click.echo(cases_text(cases, width=text_width(), colour=colour_wanted()))
    return exit_status.DONE


@case.command("show", epilog="\b\nExample:\n  exonerate case show --case case-3fa9c1")
@case_options
@json_option
def show(where: CaseOptions, as_json: bool) -> int:
    """Show one case: suspects, evidence, interventions, verdicts."""
    found = needed_case(where.open_ledger(), where.case, as_of=system_clock().wall())
    if as_json:
        print_json(case_json(found))
    else:
        click.echo(case_overview_text(found, width=text_width(), colour=colour_wanted()))
    return exit_status.DONE


@case.group()
def suspect() -> None:
    """Name suspects of a case."""


@suspect.command(
    "add",
    epilog="\b\nExample:\n"
    '  exonerate case suspect add "512 CTAs hang the decode kernel" --knob TARGET_CTAS \\\n'
    '    --predicts "the hang stops at 256" --if-false "the hang goes on at 256"',
)
@case_options
@click.argument("claim")
@click.option("--mechanism", default="", help="How it would make the symptom.")
@click.option("--predicts", multiple=True, help="What is seen if it is true (repeatable).")
@click.option("--if-false", multiple=True, help="What is seen if it is false (repeatable).")
@click.option("--id", "identity", help="A short name for it.")
@click.option("--knob", help="The knob it blames.")
@click.option("--class", "fault_class", help="The fault class it claims, as `locate` names it.")
@click.option("--hop", help="The hop it blames.")
def add_suspect(
    where: CaseOptions,
    claim: str,
    mechanism: str,
    predicts: tuple[str, ...],
    if_false: tuple[str, ...],
    identity: str | None,
    **blames: str | None,
) -> int:
    """Name a suspect and print its id; without a falsifiable prediction it is refused."""
    named = Claim(
        id=identity,
        claim=claim,
        mechanism=mechanism,
        predicts=predicts,
        predicted_if_false=if_false,
        **blames,
    )
    check_claim(named)
    ledger, book = where.open_book()
    target = case_to_write(where, ledger, book, title=claim)
    click.echo(book.add_suspect(target, named))
    return exit_status.DONE


@case.command(
    "evidence",
    epilog="\b\nExamples:\n"
    '  exonerate case evidence --statement "a proxy acted up all week" --by ann\n'
    "  exonerate case evidence --file PERF_PLAN.md --suspect TARGET_CTAS",
)
@case_options
@click.option("--statement", help="What somebody says.")
@click.option("--by", help="Who says it.")
@click.option("--file", "files", multiple=True, type=click.Path(path_type=Path), help="A document.")
@click.option(
    "--suspect", "suspects", multiple=True, metavar="ID", help="The suspect it points at."
)
def evidence(
    where: CaseOptions,
    statement: str | None,
    by: str | None,
    files: tuple[Path, ...],
    suspects: tuple[str, ...],
) -> int:
    """Add what a person says or what a document holds, and print the ids of the evidence.

    A statement is recorded with a name and a time. It may raise a suspect or point to a document;
    it never convicts one.
    """
    if (statement is None) == (not files):
        raise click.UsageError("give either --statement with --by, or --file")
    if statement is not None and by is None:
        raise click.UsageError("a statement needs the name of who makes it: --by NAME")
    if statement is not None and by is not None:
        added = [_add_statement(where, statement, by, suspects)]
    else:
        added = _add_files(where, files, suspects)
    for identity in added:
        click.echo(identity)
    if not added:
        click.echo("nothing new in these files", err=True)
    return exit_status.DONE


@case.command("verify", epilog="\b\nExample:\n  exonerate case verify --json")
@ledger_options
@json_option
def verify(where: CaseOptions, as_json: bool) -> int:
    """Check the chain of records and decide every run again from what was recorded.

    Exit status 1 when a record was altered, or a scene or verdict does not follow from the records.
    """
    answer = verify_chain(where.open_ledger().check_chain(), deciders())
    if as_json:
        print_json(answer)
    else:
        click.echo(verification_text(answer, width=text_width(), colour=colour_wanted()))
    return exit_status.FINDING if _is_broken(answer) else exit_status.DONE


def _add_statement(where: CaseOptions, statement: str, by: str, suspects: tuple[str, ...]) -> str:
    ledger, book = where.open_book()
    target = _target(where, ledger, book, suspects, title=statement)
    return book.add_statement(target, statement, by=by, raises=suspects, clock=system_clock())


def _add_files(where: CaseOptions, files: tuple[Path, ...], suspects: tuple[str, ...]) -> list[str]:
    # The files are read before a case is opened: a mistyped path must not leave an empty one.
    reading = read_documents(files)
    ledger, book = where.open_book()
    target = _target(where, ledger, book, suspects, title=f"What {files[0].name} says")
    deployment = where.deployment()
    knobs = [knob.name for knob in deployment.knobs] if deployment is not None else []
    added = record_reading(
        reading, ledger=ledger, clock=system_clock(), case=target.id, knobs=knobs
    )
    hashes = {source.sha256 for source in reading.sources}
    known = needed_case(ledger, target.id).evidence
    pointing = [piece.id for piece in known if piece.sha256 in hashes]
    for name in suspects:
        book.point_at(target, name, pointing, why="given with the document")
    return added


def _target(
    where: CaseOptions, ledger: Ledger, book: CaseBook, suspects: tuple[str, ...], *, title: str
) -> Case:
    """The case to add to; evidence against a suspect needs a case that has the suspect."""
    if not suspects:
        return case_to_write(where, ledger, book, title=title)
    target = needed_case(ledger, where.case)
    for name in suspects:
        check_suspect(target, name)
    return target


def _is_broken(answer: JsonObject) -> bool:
    checked = [*objects_at(answer, "verdicts"), *objects_at(answer, "unfinished_runs")]
    return answer["chain"] == "broken" or any(entry.get("same") is False for entry in checked)
