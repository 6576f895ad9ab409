"""What `ab KNOB` and `aa` share: options of an experiment, the plan, the run, the way out."""

from __future__ import annotations

import platform
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from exonerate.compose import (
    Workbench,
    build_workbench,
    changing,
    ledger_place,
    required_deployment,
)
from exonerate.core.deployment.model import Deployment
from exonerate.core.experiment.plan import expectation_of, plan_answer, plan_lines
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Ledger
from exonerate.core.stats.design import BLOCKS_DEFAULT, BLOCKS_MAX
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_to_write
from exonerate.frontends.cli.comparison_options import CellList, Margin
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.knob_desk import confirm
from exonerate.frontends.cli.output import ProgressLine, print_json
from exonerate.jobs.ab import (
    ExperimentRequest,
    Means,
    Prepared,
    Run,
    finish_cut_off,
    run_experiment,
)
from exonerate.jobs.case import CaseBook

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Session:
    """One command at work: its deployment, its workbench, its progress line."""

    deployment: Deployment
    workbench: Workbench
    means: Means
    progress: ProgressLine


def experiment_options(command: Command) -> Command:
    """Adds the options of an experiment."""
    options = (
        click.option(
            "--blocks",
            type=click.IntRange(1, BLOCKS_MAX),
            default=BLOCKS_DEFAULT,
            show_default=True,
            help="Blocks of two restarts; below 3 there is no verdict.",
        ),
        click.option(
            "-C", "cells", type=CellList(), default="1,4", show_default=True, help="Concurrencies."
        ),
        click.option("--requests", type=click.IntRange(1), help="Requests in each cell."),
        click.option("--prompt-tokens", type=click.IntRange(1), help="As the victim's by default."),
        click.option("--max-tokens", type=click.IntRange(1), help="As the victim's by default."),
        click.option("--seed", type=click.IntRange(0), help="Makes the same order again."),
        click.option("--plan", is_flag=True, help="Say what it could show; touch nothing."),
        click.option("--noise", type=Margin(), help="Restart noise for the plan, as a ratio."),
        click.option("--yes", is_flag=True, help="Do not ask before restarting the service."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def changing_session(where: CaseOptions) -> Iterator[Session]:
    """A session that holds the lock under which this deployment is changed."""
    deployment = required_deployment(where.config)
    with changing(deployment):
        workbench = build_workbench(deployment, ledger_place(where.ledger, where.config))
        progress = ProgressLine()
        means = Means(
            ledger=workbench.ledger,
            player=workbench.player,
            redactor=workbench.redactor,
            clock=workbench.clock,
            progress=progress,
        )
        yield Session(deployment, workbench, means, progress)


def request_of(options: dict[str, Any]) -> ExperimentRequest:
    """The request as the options put it."""
    seed = options["seed"]
    return ExperimentRequest(
        seed=secrets.randbelow(2**31) if seed is None else seed,
        blocks=options["blocks"],
        cells=whole_cells(options["cells"], "-C"),
        requests=options["requests"],
        prompt_tokens=options["prompt_tokens"],
        max_tokens=options["max_tokens"],
        margin=options["margin"],
        primary=None
        if options["primary"] is None
        else whole_cells(options["primary"], "--primary"),
        guards=whole_cells(options["guard"] or (), "--guard"),
        looks=options["looks"],
    )


def whole_cells(cells: tuple[float, ...], option: str) -> tuple[int, ...]:
    """Concurrencies as whole numbers."""
    for cell in cells:
        if cell != int(cell):
            raise ExonerateError(
                f"`{option}` names {cell}; a concurrency is a whole number", "write for example 1,8"
            )
    return tuple(int(cell) for cell in cells)


def finish_first(session: Session) -> None:
    """Put back what an earlier experiment left behind when it was cut off."""
    answers = run_async(finish_cut_off(session.deployment, session.means, host=platform.node()))
    session.progress.done()
    for answer in answers:
        if not answer["restored"]:
            raise ExonerateError(
                f"an earlier experiment was cut off and the original state of "
                f"`{answer['service']}` could not be put back",
                "look at the file of the knob and at the service, then mend them by hand",
            )


def show_plan(where: CaseOptions, prepared: Prepared, options: dict[str, Any]) -> int:
    """Print what the experiment could show; nothing is touched, not even the ledger."""
    plan = _plan(where.open_ledger(), prepared, options["noise"])
    if options["as_json"]:
        print_json(plan)
    else:
        click.echo("\n".join(plan_lines(plan)))
    return exit_status.DONE


def play(
    session: Session, where: CaseOptions, prepared: Prepared, options: dict[str, Any]
) -> JsonObject:
    """Say what it can show, ask, and run it; the answer `exonerate.comparison/1`."""
    setup = prepared.setup
    lines = "\n".join(plan_lines(_plan(session.workbench.ledger, prepared, options["noise"])))
    if options["yes"]:
        click.echo(lines, err=True)
    question = f"restart `{setup.service}` that often"
    confirm(question, lambda: lines, yes=options["yes"], look="--plan")
    workbench = session.workbench
    book = CaseBook(workbench.ledger, workbench.redactor)
    case = case_to_write(
        where, workbench.ledger, book, title=f"{setup.job} {setup.knob or setup.service}"
    )
    run = Run(case=case.id, run=f"{setup.job}-{secrets.token_hex(4)}", host=platform.node())
    try:
        answer = run_async(run_experiment(prepared, run, session.means))
    finally:
        # An interrupted run has just said whether the original state is back: leave that line.
        if sys.exc_info()[0] is None:
            session.progress.done()
        else:
            click.echo("", err=True)
    if not answer["restored"]:
        click.echo(f"warning: the original state of {setup.service} is NOT back", err=True)
    return answer


def _plan(ledger: Ledger, prepared: Prepared, noise: float | None) -> JsonObject:
    expected = expectation_of(ledger.records(), prepared.setup, noise=noise)
    return plan_answer(prepared.setup, expected)
