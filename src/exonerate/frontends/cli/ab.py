"""`exonerate ab`: compare two values of one knob, or two arms of trials recorded earlier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exonerate.core.stats.comparison import MARGIN_DEFAULT, Question
from exonerate.core.stats.trials import Cell
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.comparison_options import CellList, Margin, print_comparison
from exonerate.jobs.analyse_trials import DEFAULT_METRIC, TrialsRequest, analyse_trials


@click.command(
    epilog="\b\nexonerate ab --from trials.csv --primary 64,80,96 --json",
)
@click.argument("knob", required=False)
@click.option(
    "--from",
    "trials_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Analyse a CSV file with the columns block,order,arm,cell,value; changes nothing.",
)
@click.option("--baseline", help="The arm to compare with [default: the first in the file].")
@click.option("--candidate", help="The other arm, when the file holds more than two.")
@click.option("--primary", type=CellList(), help="The band that decides [default: all cells].")
@click.option(
    "--margin",
    type=Margin(),
    default=MARGIN_DEFAULT,
    show_default=True,
    help="The ratio below which a difference does not matter.",
)
@click.option("--guard", type=CellList(), help="Cells that must be shown not to lose.")
@click.option("--lower-is-better", is_flag=True, help="The values are times, not rates.")
@click.option("--metric", default=DEFAULT_METRIC, show_default=True, help="What the values are.")
@click.option(
    "--planned-blocks",
    type=click.IntRange(1),
    help="Blocks fixed beforehand; more than these are judged by the e-process.",
)
@click.option("--looks", is_flag=True, help="Looks after 3, 5 and 8 blocks were planned.")
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print exonerate.comparison/1.")
def command(knob: str | None, trials_file: Path | None, **options: Any) -> int:
    """Compare two arms: better, worse, flat, or how many blocks would tell.

    Exit status: 0 better or flat, 1 worse, 3 undecided, 2 invalid. A guard that is not cleared
    leaves undecided, and any cell that is proven worse counts as worse.
    """
    if trials_file is None:
        raise ExonerateError(
            "`ab` needs a knob or `--from TRIALS.csv`", "`exonerate knob list` names the knobs"
        )
    request = TrialsRequest(
        question=question_of(options),
        baseline=options["baseline"],
        candidate=options["candidate"],
        metric=options["metric"],
        blocks_planned=options["planned_blocks"],
        looks=options["looks"],
    )
    answer = analyse_trials(trials_file.read_bytes(), str(trials_file), request)
    return print_comparison(answer, as_json=options["as_json"], markdown=options["markdown"])


def question_of(options: dict[str, Any]) -> Question:
    """The question as the options put it."""
    primary: tuple[Cell, ...] | None = options["primary"]
    return Question(
        margin=options["margin"],
        primary=primary,
        lower_is_better=options["lower_is_better"],
        guards=options["guard"] or (),
        guard_margin=options["margin"],
    )
