"""`exonerate aa`: restart a service against itself, to learn its noise."""

from __future__ import annotations

from typing import Any

import click

from exonerate.compose import required_deployment
from exonerate.core.experiment.outcome import outcome_of
from exonerate.core.stats.comparison import MARGIN_DEFAULT
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, case_options
from exonerate.frontends.cli.comparison_options import Margin, print_comparison
from exonerate.frontends.cli.experiment_options import (
    changing_session,
    experiment_options,
    finish_first,
    play,
    request_of,
    show_plan,
)
from exonerate.jobs.ab import prepare_aa


@click.command(epilog="\b\nExample:\n  exonerate aa decode --blocks 8 -C 1,4")
@case_options
@click.argument("service", required=False)
@click.option("--margin", type=Margin(), default=MARGIN_DEFAULT, show_default=True)
@experiment_options
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print exonerate.comparison/1.")
def command(where: CaseOptions, service: str | None, **options: Any) -> int:
    """Restart SERVICE in blocks against itself: the noise floor of this host and workload.

    No setting is changed. Eight blocks give a noise figure that `ab --plan` uses.

    Exit status: 0 no difference was found, 1 one was found although there is none (something
    other than chance tells the restarts apart), 3 undecided, 2 invalid.
    """
    request = request_of({**options, "primary": None, "guard": None, "looks": False})
    if options["plan"]:
        deployment = required_deployment(where.config)
        return show_plan(where, prepare_aa(deployment, service, request), options)
    with changing_session(where) as session:
        finish_first(session)
        prepared = prepare_aa(session.deployment, service, request)
        answer = play(session, where, prepared, options)
    status = print_comparison(answer, as_json=options["as_json"], markdown=options["markdown"])
    return exit_status.FINDING if outcome_of(answer) == "better" else status
