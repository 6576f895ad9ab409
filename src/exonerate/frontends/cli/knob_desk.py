"""What every `exonerate knob` command begins and ends with."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import click

from exonerate.compose import Workbench, build_workbench, ledger_place, required_deployment
from exonerate.core.change.history import open_changes, recorded_changes
from exonerate.core.json_types import JsonObject
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.output import ProgressLine, colour_wanted, print_json, text_width
from exonerate.jobs.change_run import ChangeTools, finish_open
from exonerate.jobs.knob import make_prepared
from exonerate.jobs.knob_changes import Hypothesis, Prepared, Start
from exonerate.report.knobs import change_text
from exonerate.report.restore_brief import diff_text
from exonerate.report.terminal import as_text


class Report(Protocol):
    """A report: an answer in, text out."""

    def __call__(self, answer: JsonObject, *, width: int, colour: bool) -> str:
        """The text."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One command at work: where it works, and how it shows what it does."""

    place: Workbench
    progress: ProgressLine

    @property
    def tools(self) -> ChangeTools:
        """What a change needs."""
        place = self.place
        return ChangeTools(
            ledger=place.ledger,
            player=place.player,
            redactor=place.redactor,
            progress=self.progress,
        )

    def start(self, kind: str, *, restart: bool) -> Start:
        """The beginning of a plan, with an id of its own."""
        return Start(
            id=f"{kind}-{secrets.token_hex(3)}",
            deployment=self.place.deployment,
            ledger=self.place.ledger,
            restart=restart,
        )

    def finished(self, knob: str, kind: str) -> JsonObject | None:
        """Finish what was cut off; the answer that already is what this command was asked for."""
        asked = None
        for answer in run_async(finish_open(self.tools)):
            self.progress.done()
            text = change_text(answer, width=text_width(), colour=False)
            click.echo(f"a change was cut off; it is ended now:\n{text}", err=True)
            if (answer["knob"], answer["type"]) == (knob, kind):
                asked = answer
        return asked

    def mention_open(self) -> None:
        """Say on stderr what was cut off; reading changes nothing."""
        for change in open_changes(recorded_changes(self.place.ledger.records())):
            click.echo(
                f"warning: the {change.plan.type} of {change.plan.knob} was cut off;"
                " the next `exonerate knob revert`, `restore` or `adopt` ends it",
                err=True,
            )

    def made(
        self, prepared: Prepared, case: str, hypothesis: Hypothesis | None = None
    ) -> JsonObject:
        """Make the change and show its progress."""
        try:
            return run_async(
                make_prepared(prepared, case=case, tools=self.tools, hypothesis=hypothesis)
            )
        finally:
            self.progress.done()


def desk_of(where: CaseOptions, *, quiet: bool) -> Desk:
    """The desk of a command; raises ExonerateError without a deployment."""
    deployment = required_deployment(where.config)
    place = build_workbench(deployment, ledger_place(where.ledger, where.config))
    return Desk(place, ProgressLine(quiet=quiet))


def show(answer: JsonObject, report: Report, *, as_json: bool) -> None:
    """Print an answer as it was asked for."""
    if as_json:
        print_json(answer)
    else:
        click.echo(report(answer, width=text_width(), colour=colour_wanted()))


def ended(answer: JsonObject, *, as_json: bool) -> int:
    """Print how a change ended; its exit status."""
    show(answer, change_text, as_json=as_json)
    return exit_status.DONE if answer["outcome"] == "committed" else exit_status.OPERATOR


def shown_diff(diff: str) -> str:
    """A difference for stderr."""
    return as_text(diff_text(diff), width=text_width())


def confirm(question: str, shown: Callable[[], str], *, yes: bool, look: str = "--dry-run") -> None:
    """Ask before anything is touched; `look` is the option that only shows what would be.

    Raises:
        ExonerateError: there is nobody to ask.
        click.Abort: the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ExonerateError(
            f"nobody confirmed to {question}: the input is no terminal",
            f"look at it with `{look}`, then add `--yes`",
        )
    click.echo(shown(), err=True)
    try:
        click.confirm(f"{question}?", abort=True, err=True)
    except click.Abort:
        click.echo("nothing was changed", err=True)
        raise
