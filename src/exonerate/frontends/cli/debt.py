"""`exonerate debt`: what every standing revert costs."""

from __future__ import annotations

import click

from exonerate.compose import live_values, system_clock
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.case_options import CaseOptions, ledger_options
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.jobs.debt import owed
from exonerate.report.debt import debt_text


@click.command(epilog="\b\nExample:\n  exonerate debt\n  exonerate debt --json")
@ledger_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def debt(where: CaseOptions, as_json: bool) -> int:
    """Show every standing revert, its price per concurrency and whether its reason still stands.

    A revert stands while the live value of its knob differs from the one before it. Exit status 1
    when anything stands.
    """
    deployment = where.deployment()
    answer = owed(
        where.open_ledger(),
        live_values(deployment),
        clock=system_clock(),
        deployment=deployment.name if deployment is not None else None,
    )
    if as_json:
        print_json(answer)
    else:
        click.echo(debt_text(answer, width=text_width(), colour=colour_wanted()))
    return exit_status.FINDING if answer["items"] else exit_status.DONE
