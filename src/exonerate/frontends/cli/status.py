"""`exonerate status`: every hop as it shows itself, and what is out of reach."""

from __future__ import annotations

from pathlib import Path

import click

from exonerate.compose import knob_readings, page_reader, required_deployment, series_reader
from exonerate.core.deployment.model import Deployment
from exonerate.core.json_types import JsonObject
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.output import colour_wanted, print_json, text_width
from exonerate.jobs.survey import HopView, survey
from exonerate.report.status import status_text


@click.command(epilog="\b\nExample:\n  exonerate status -c exonerate.toml")
@click.option("-c", "--config", type=click.Path(path_type=Path), help="The deployment file.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def status(config: Path | None, as_json: bool) -> int:
    """Show every hop, its engine, metrics source and knobs, and what is out of reach.

    Only model lists and metrics pages are read; no completion is sent.
    """
    deployment = required_deployment(config)
    views = run_async(survey(deployment, page_reader(deployment), series_reader()))
    answer = _answer(deployment, views)
    if as_json:
        print_json(answer)
    else:
        click.echo(status_text(answer, width=text_width(), colour=colour_wanted()))
    unreachable = any(not view.reachable for view in views)
    return exit_status.FINDING if unreachable else exit_status.DONE


def _answer(deployment: Deployment, views: list[HopView]) -> JsonObject:
    return {
        "schema": "exonerate.status/1",
        "deployment": deployment.name,
        "model": deployment.model,
        "hops": [
            {**view.to_json(), "role": hop.role, "behind": list(hop.behind)}
            for hop, view in zip(deployment.hops, views, strict=True)
        ],
        "knobs": [
            {
                "name": reading.knob.name,
                "service": reading.knob.service,
                "file": reading.knob.file,
                "written": reading.written,
                "live": reading.live,
                "values": list(reading.knob.values),
                "default": reading.knob.default,
                "error": reading.error,
            }
            for reading in knob_readings(deployment)
        ],
    }
