"""`exonerate knob`: change one setting safely, as a recorded intervention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exonerate.compose import changing
from exonerate.core.change.brief import brief_json
from exonerate.core.change.plan import plan_to_body
from exonerate.core.json_types import JsonObject
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options, case_to_write
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.knob_desk import Desk, confirm, desk_of, ended, show, shown_diff
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.jobs.case import CaseBook, find_case
from exonerate.jobs.knob import (
    adopt,
    brief_of,
    hypothesis_of,
    knob_diff,
    knob_list,
    prepare_restore,
    prepare_revert,
)
from exonerate.jobs.knob_changes import EditedSince, Prepared
from exonerate.jobs.knob_files import knob_named
from exonerate.report.knobs import knob_diff_text, knobs_text
from exonerate.report.restore_brief import brief_text

json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
restart_option = click.option(
    "--restart/--no-restart", default=True, help="Restart the service afterwards (default)."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the change and make none.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(
    epilog="\b\nExamples:\n  exonerate knob list\n"
    "  exonerate knob revert CTAS --tests 'CTAS=512 hangs it' --predict 'no hang' --reason test\n"
    "  exonerate knob restore CTAS --dry-run"
)
def knob() -> None:
    """Change one setting safely, as a recorded intervention."""


@knob.command("list", epilog="\b\nExample:\n  exonerate knob list --json")
@case_options
@json_option
def list_command(where: CaseOptions, as_json: bool) -> int:
    """Show every knob: its value in the file and in the running processes, and what stands."""
    desk = desk_of(where, quiet=True)
    desk.mention_open()
    place = desk.place
    answer = run_async(knob_list(place.deployment, place.ledger, place.services.settings))
    show(answer, knobs_text, as_json=as_json)
    return exit_status.DONE


@knob.command("diff", epilog="\b\nExample:\n  exonerate knob diff SGLANG_SM120_MMA_TARGET_CTAS")
@click.argument("name")
@case_options
@json_option
def diff_command(name: str, where: CaseOptions, as_json: bool) -> int:
    """Compare the live file with what is on record of it; exit status 1 when they differ."""
    desk = desk_of(where, quiet=True)
    desk.mention_open()
    answer = knob_diff(desk.place.deployment, name, desk.place.ledger)
    show(answer, knob_diff_text, as_json=as_json)
    return exit_status.FINDING if answer["differs"] else exit_status.DONE


@knob.command(
    "revert",
    epilog="\b\nExample:\n  exonerate knob revert TARGET_CTAS --to 256 \\\n"
    "    --tests 'TARGET_CTAS=512 hangs the engine' --predict 'the harness completes' \\\n"
    "    --reason 'incident 12' --yes",
)
@click.argument("name")
@click.option("--to", metavar="VALUE", help="The value; default: the knob's default.")
@click.option("--tests", required=True, metavar="SUSPECT", help="The suspect's id, or its claim.")
@click.option("--predict", required=True, metavar="TEXT", help="What is seen if it is guilty.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is done now.")
@restart_option
@dry_run_option
@yes_option
@case_options
@json_option
def revert_command(name: str, where: CaseOptions, to: str | None, **options: Any) -> int:
    """Set a knob back, as the test of a hypothesis with its prediction: never as a fix."""
    desk = desk_of(where, quiet=options["as_json"])
    deployment, ledger = desk.place.deployment, desk.place.ledger
    chosen = knob_named(deployment, name)
    hypothesis = hypothesis_of(
        find_case(ledger, where.case),
        chosen,
        tests=options["tests"],
        predict=options["predict"],
        reason=options["reason"],
    )

    def prepared() -> Prepared:
        start = desk.start("revert", restart=options["restart"])
        return prepare_revert(deployment, chosen.name, hypothesis=hypothesis, to=to, start=start)

    if options["dry_run"]:
        desk.mention_open()
        return _dry_revert(prepared(), as_json=options["as_json"])
    with changing(deployment):
        done = desk.finished(chosen.name, "revert")
        if done is not None:
            return ended(done, as_json=options["as_json"])
        plan = prepared()
        question = f"set {chosen.name} from {plan.plan.was} to {plan.plan.to}"
        confirm(question, lambda: shown_diff(plan.proof.diff), yes=options["yes"])
        case = _case(desk, where, f"{chosen.name} is suspected")
        return ended(desk.made(plan, case, hypothesis), as_json=options["as_json"])


@knob.command(
    "restore",
    epilog="\b\nExample:\n  exonerate knob restore TARGET_CTAS --dry-run\n"
    "  exonerate knob restore TARGET_CTAS --yes",
)
@click.argument("name")
@click.option("--reason", default="the revert is taken back", metavar="TEXT", help="Why now.")
@restart_option
@dry_run_option
@yes_option
@case_options
@json_option
def restore_command(name: str, where: CaseOptions, **options: Any) -> int:
    """Give a knob the value back that the standing revert took.

    `--dry-run` prints the restore brief: what it gives back, how good that number is, which claims
    of correctness were measured, the difference, what cleared the suspect, what is assumed, and a
    recommendation.
    """
    desk = desk_of(where, quiet=options["as_json"])
    chosen = knob_named(desk.place.deployment, name)
    if options["dry_run"]:
        desk.mention_open()
        prepared = _restore_plan(desk, chosen.name, options)
        return _dry_restore(desk, prepared, as_json=options["as_json"])
    with changing(desk.place.deployment):
        done = desk.finished(chosen.name, "restore")
        if done is not None:
            return ended(done, as_json=options["as_json"])
        prepared = _restore_plan(desk, chosen.name, options)
        question = f"set {chosen.name} from {prepared.plan.was} to {prepared.plan.to}"
        confirm(question, lambda: _brief(desk, prepared, colour=False), yes=options["yes"])
        case = where.case or _case_of_revert(desk, prepared)
        return ended(desk.made(prepared, case), as_json=options["as_json"])


@knob.command(
    "adopt",
    epilog="\b\nExample:\n  exonerate knob adopt TARGET_CTAS --was serve.sh.bak \\\n"
    "    --reason 'taken out as a precaution'",
)
@click.argument("name")
@click.option(
    "--was",
    required=True,
    type=click.Path(path_type=Path),
    help="The file as it was before the revert.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why it was reverted then.")
@click.option("--tests", metavar="SUSPECT", help="The suspect's id, or its claim.")
@click.option("--predict", metavar="TEXT", help="What was expected of the revert.")
@case_options
@json_option
def adopt_command(name: str, where: CaseOptions, was: Path, **options: Any) -> int:
    """Take in a revert that was made before: shows that it was one setting, touches nothing."""
    desk = desk_of(where, quiet=options["as_json"])
    deployment, ledger = desk.place.deployment, desk.place.ledger
    chosen = knob_named(deployment, name)
    with changing(deployment):
        desk.finished(chosen.name, "adopt")
        hypothesis = hypothesis_of(
            find_case(ledger, where.case),
            chosen,
            tests=options["tests"] or f"{chosen.name} makes the symptom",
            predict=options["predict"] or "the symptom goes away with the revert",
            reason=options["reason"],
        )
        answer = adopt(
            deployment,
            chosen.name,
            backup=was,
            hypothesis=hypothesis,
            start=desk.start("adopt", restart=False),
            into_case=lambda: _case(desk, where, f"{chosen.name} was reverted"),
            tools=desk.tools,
        )
    return ended(answer, as_json=options["as_json"])


def _dry_revert(prepared: Prepared, *, as_json: bool) -> int:
    plan = prepared.plan
    answer: JsonObject = {
        "schema": "exonerate.change-plan/1",
        **plan_to_body(plan),
        "diff": prepared.proof.diff,
    }
    if as_json:
        print_json(answer)
    else:
        restart = f", then restart {plan.service}" if plan.restart else ""
        click.echo(f"would set {plan.knob} from {plan.was} to {plan.to}{restart}")
        click.echo(shown_diff(prepared.proof.diff))
    return exit_status.DONE


def _dry_restore(desk: Desk, prepared: Prepared, *, as_json: bool) -> int:
    if as_json:
        print_json(brief_json(brief_of(prepared, desk.place.ledger)))
    else:
        click.echo(_brief(desk, prepared, colour=colour_wanted()))
    return exit_status.DONE


def _brief(desk: Desk, prepared: Prepared, *, colour: bool) -> str:
    brief = brief_of(prepared, desk.place.ledger)
    return brief_text(brief, width=text_width(), colour=colour)


def _restore_plan(desk: Desk, name: str, options: dict[str, Any]) -> Prepared:
    start = desk.start("restore", restart=options["restart"])
    planned = prepare_restore(desk.place.deployment, name, reason=options["reason"], start=start)
    if isinstance(planned, EditedSince):
        click.echo("the recorded change:", err=True)
        click.echo(shown_diff(planned.recorded_diff), err=True)
        click.echo("the edit made since by somebody else:", err=True)
        click.echo(shown_diff(planned.edit_diff), err=True)
        raise ExonerateError(
            f"`{planned.file}` was edited since the last recorded change; nothing is merged",
            "undo or finish that edit by hand, then ask again; "
            f"`exonerate knob diff {name}` shows where it stands",
        )
    return planned


def _case(desk: Desk, where: CaseOptions, title: str) -> str:
    book = CaseBook(desk.place.ledger, desk.place.redactor)
    return case_to_write(where, desk.place.ledger, book, title=title).id


def _case_of_revert(desk: Desk, prepared: Prepared) -> str:
    """A restore belongs to the case of the revert that it takes back."""
    records = desk.place.ledger.records()
    return next(
        record.case
        for record in records
        if record.kind == "intervention_planned" and record.body["id"] == prepared.plan.undoes
    )
