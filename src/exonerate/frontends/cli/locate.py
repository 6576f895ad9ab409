"""`exonerate locate`: find the layer that is really to blame."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import click

from exonerate.adapters.packet_capture import StandingCapture
from exonerate.adapters.player import Performer
from exonerate.adapters.plugins import plugged_suspects
from exonerate.adapters.standing_tap import StandingTaps
from exonerate.compose import (
    build_workbench,
    check_victim,
    ledger_place,
    live_values,
    required_deployment,
    standing_taps,
)
from exonerate.core.case.answers import objects_in
from exonerate.core.deployment.model import Deployment
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, Tap, WatchPackets
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.capturing import capture_of
from exonerate.frontends.cli.case_options import CaseOptions, case_options, case_to_write
from exonerate.frontends.cli.duration import Duration
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.observe import (
    Asked,
    CommandWithProgram,
    VictimOptions,
    program_options,
    run_observed,
)
from exonerate.frontends.cli.output import ProgressLine, colour_wanted, print_json, text_width
from exonerate.frontends.cli.urls import Url
from exonerate.jobs.case import CaseBook, find_case
from exonerate.jobs.locate import (
    LocateRequest,
    check_locatable,
    deployment_of_urls,
    locate,
    planned_traffic,
    still_standing,
)
from exonerate.report.verdict import verdict_text

STATUS_OF_OUTCOME = {
    "no_fault": exit_status.DONE,
    "fault": exit_status.FINDING,
    "insufficient_evidence": exit_status.INSUFFICIENT,
}
SYMPTOMS = ("hang", "slow", "truncated", "corrupted", "errors")


@dataclass(frozen=True, slots=True)
class _Options:
    seed: int
    budget_s: float
    symptom: str | None
    gentle: bool
    as_json: bool
    packets: bool


@click.command(
    cls=CommandWithProgram,
    epilog="\b\nExamples:\n"
    "  exonerate locate\n"
    "  exonerate locate http://proxy:8080 http://engine:8000 --model dsv4\n"
    "  exonerate locate --dry-run\n"
    "  exonerate locate --run -- python agent.py\n"
    "  exonerate locate http://proxy:8080 http://engine:8000 --run -- ./harness --fast",
)
@click.argument("urls", nargs=-1, type=Url())
@click.option("--model", help="What requests name; needed with URLs.")
@case_options
@click.option("--symptom", type=click.Choice(SYMPTOMS), help="What the victim complains of.")
@click.option("--budget", type=Duration(), default="60s", show_default=True, help="Time to spend.")
@click.option("--seed", type=int, help="Seed of prompts and order; random when left out.")
@click.option("--gentle", is_flag=True, help="While a round waits, ask at its own hop only.")
@click.option("--packets", is_flag=True, help="Watch packets between the hops as well; needs root.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
@program_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    urls: tuple[str, ...],
    model: str | None,
    where: CaseOptions,
    symptom: str | None,
    budget: float,
    seed: int | None,
    gentle: bool,
    packets: bool,
    dry_run: bool,
    victim: VictimOptions,
    as_json: bool,
) -> int:
    """Find the guilty layer, clear the innocent, or say that nobody is to blame.

    Every hop of the deployment is asked the way the victim asks. Without a deployment file give
    the URLs of the hops, client side first and the engine last. With `--run -- COMMAND` the
    victim's own program is run through a tap before the first hop, and judged as well.
    """
    deployment = victim.shaped(_deployment(urls, model or victim.model(), where))
    chosen = seed if seed is not None else secrets.randbelow(1 << 31)
    if dry_run:
        _print_plan(planned_traffic(deployment, seed=chosen, gentle=gentle), as_json)
        return exit_status.DONE
    check_locatable(deployment)
    check_victim(deployment)
    options = _Options(chosen, budget, symptom, gentle, as_json, packets)
    answer = _run(deployment, where, options, victim)
    standing = _standing(deployment, where)
    if as_json:
        print_json({**answer, "standing": standing})
    else:
        click.echo(verdict_text(answer, width=text_width(), colour=colour_wanted()))
        _print_standing(answer, standing)
    return STATUS_OF_OUTCOME[str(answer["outcome"])]


def _deployment(urls: tuple[str, ...], model: str | None, where: CaseOptions) -> Deployment:
    if not urls:
        return required_deployment(where.config)
    if where.config is not None:
        raise ExonerateError("URLs and `-c FILE` were both given", "give one of them")
    if model is None:
        raise ExonerateError("URLs need a model to ask for", "add `--model NAME`")
    return deployment_of_urls(list(urls), model=model, folder=str(Path.cwd()))


def _run(
    deployment: Deployment, where: CaseOptions, options: _Options, victim: VictimOptions
) -> JsonObject:
    if victim.program is not None:
        asked = Asked(
            options.seed, options.budget_s, options.symptom, options.gentle, options.packets
        )
        return run_observed(deployment, where, victim, asked, quiet=options.as_json)
    with (
        standing_taps(deployment) as taps,
        capture_of(deployment, wanted=options.packets) as capture,
    ):
        return _located(deployment, where, options, taps, capture)


def _located(
    deployment: Deployment,
    where: CaseOptions,
    options: _Options,
    taps: StandingTaps,
    capture: StandingCapture | None,
) -> JsonObject:
    place = ledger_place(where.ledger, where.config)
    more: dict[type[Activity], Performer] = {Tap: taps}
    if capture is not None:
        more[WatchPackets] = capture
    workbench = build_workbench(deployment, place, more=more)
    book = CaseBook(workbench.ledger, workbench.redactor)
    case = case_to_write(
        where,
        workbench.ledger,
        book,
        title=f"who is to blame in {deployment.name}",
        symptom=options.symptom or "hang",
    )
    progress = ProgressLine(quiet=options.as_json)
    request = LocateRequest(
        case=case.id,
        run=f"locate-{secrets.token_hex(4)}",
        seed=options.seed,
        budget_s=options.budget_s,
        symptom=options.symptom or case.symptom,
        gentle=options.gentle,
        packets=options.packets,
        plugged=plugged_suspects(),
    )
    try:
        run = locate(
            deployment,
            request,
            ledger=workbench.ledger,
            player=workbench.player,
            redactor=workbench.redactor,
            progress=progress,
        )
        return run_async(taps.during(run if capture is None else capture.during(run)))
    finally:
        progress.done()


def _standing(deployment: Deployment, where: CaseOptions) -> list[JsonObject]:
    case = find_case(where.open_ledger(), where.case)
    if case is None:
        return []
    live = live_values(deployment)
    return still_standing(case, {knob.name: live(knob.name) for knob in deployment.knobs})


def _print_standing(answer: JsonObject, standing: list[JsonObject]) -> None:
    if answer["outcome"] != "fault" or not standing:
        return
    click.echo("\nStill standing, changed while somebody else was suspected:")
    for item in standing:
        click.echo(f"  {item['knob']} is {item['live']}, was {item['was']}")
    click.echo("  what that costs: `exonerate debt`; to give it back: `exonerate knob restore`")


def _print_plan(plan: JsonObject, as_json: bool) -> None:
    if as_json:
        print_json(plan)
        return
    sessions = plan["sessions"]
    assert isinstance(sessions, list)
    click.echo(f"first: {plan['first_scene']}")
    for session in sessions:
        click.echo(f"  {session}")
    click.echo(
        f"at most {plan['requests_max']} requests in {plan['scenes_max']} scenes, "
        f"{plan['in_flight_max']} at a time, each with up to "
        f"{plan['prompt_tokens_per_request_max']} prompt and "
        f"{plan['output_tokens_per_request_max']} output tokens; most runs end far earlier:"
    )
    for row in objects_in(plan, "scenes"):
        click.echo(
            f"  {row['kind']}: up to {row['scenes_max']} of {row['requests_per_scene_max']} "
            f"requests, {row['in_flight_max']} at a time; {row['when']}"
        )
    said = "--gentle leaves out" if plan["gentle"] else "--gentle would leave out"
    click.echo(f"{said}:")
    left_out = plan["gentle_leaves_out"]
    assert isinstance(left_out, list)
    for line in left_out:
        click.echo(f"  {line}")
