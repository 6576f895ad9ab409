"""`exonerate ab`: compare two values of one knob, or two arms of trials recorded earlier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from exonerate.compose import required_deployment
from exonerate.core.deployment.model import Deployment
from exonerate.core.stats.comparison import MARGIN_DEFAULT, Question
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.case_options import CaseOptions, case_options
from exonerate.frontends.cli.comparison_options import CellList, Margin, print_comparison
from exonerate.frontends.cli.experiment_options import (
    changing_session,
    experiment_options,
    finish_first,
    play,
    request_of,
    show_plan,
)
from exonerate.jobs.ab import Prepared, knob_content, prepare_ab
from exonerate.jobs.analyse_trials import DEFAULT_METRIC, TrialsRequest, analyse_trials

Command = TypeVar("Command", bound=Callable[..., Any])


def trials_options(command: Command) -> Command:
    """Adds the options of `--from`."""
    options = (
        click.option(
            "--from",
            "trials_file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Analyse a CSV with the columns block,order,arm,cell,value; change nothing.",
        ),
        click.option("--baseline", help="--from: the arm to compare with [default: the first]."),
        click.option("--candidate", help="--from: the other arm, if there are more than two."),
        click.option("--lower-is-better", is_flag=True, help="--from: the values are times."),
        click.option("--metric", default=DEFAULT_METRIC, help="--from: what the values are."),
        click.option(
            "--planned-blocks",
            type=click.IntRange(1),
            help="--from: blocks fixed beforehand; more are judged by the e-process.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate ab TARGET_CTAS --values 256,512 -C 64,80,96 --plan\n"
    "  exonerate ab --from trials.csv --primary 64,80,96 --json"
)
@case_options
@click.argument("knob", required=False)
@click.option("--values", metavar="A,B", help="Two values, baseline first [default: the knob's].")
@click.option("--primary", type=CellList(), help="The band that decides [default: all cells].")
@click.option("--guard", type=CellList(), help="Cells that must be shown not to lose.")
@click.option(
    "--margin",
    type=Margin(),
    default=MARGIN_DEFAULT,
    show_default=True,
    help="The ratio below which a difference does not matter.",
)
@click.option("--looks", is_flag=True, help="Look after 3, 5 and 8 blocks, each at its own level.")
@experiment_options
@trials_options
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print exonerate.comparison/1.")
def command(where: CaseOptions, knob: str | None, trials_file: Path | None, **options: Any) -> int:
    """Compare two values of KNOB: better, worse, flat, or how many blocks would tell.

    Each block restarts the service once with each value, in random order, and loads it at every
    concurrency. The original file is put back whatever happens. With --from nothing is run.

    Exit status: 0 better or flat, 1 worse, 3 undecided, 2 invalid. A guard that is not cleared
    leaves undecided, and any cell that is proven worse counts as worse.
    """
    if trials_file is not None and knob is not None:
        raise ExonerateError(
            "a knob and `--from` were both given", "give one of them: `--from` runs nothing"
        )
    if trials_file is not None:
        answer = analyse_trials(trials_file.read_bytes(), str(trials_file), trials_of(options))
        return print_comparison(answer, as_json=options["as_json"], markdown=options["markdown"])
    if knob is None:
        raise ExonerateError(
            "`ab` needs a knob or `--from TRIALS.csv`", "`exonerate knob list` names the knobs"
        )
    if options["plan"]:
        deployment = required_deployment(where.config)
        return show_plan(where, _prepared(deployment, knob, options), options)
    with changing_session(where) as session:
        # The file may still hold an arm of an experiment that was killed: that is put right first.
        finish_first(session)
        answer = play(session, where, _prepared(session.deployment, knob, options), options)
    return print_comparison(answer, as_json=options["as_json"], markdown=options["markdown"])


def _prepared(deployment: Deployment, knob: str, options: dict[str, Any]) -> Prepared:
    values = options["values"]
    return prepare_ab(
        deployment,
        knob,
        request_of(options),
        values=tuple(value.strip() for value in values.split(",")) if values else (),
        content=knob_content(deployment, knob),
    )


def trials_of(options: dict[str, Any]) -> TrialsRequest:
    """What is asked of a file of trials, as the options put it."""
    return TrialsRequest(
        question=Question(
            margin=options["margin"],
            primary=options["primary"],
            lower_is_better=options["lower_is_better"],
            guards=options["guard"] or (),
            guard_margin=options["margin"],
        ),
        baseline=options["baseline"],
        candidate=options["candidate"],
        metric=options["metric"],
        blocks_planned=options["planned_blocks"],
        looks=options["looks"],
    )
