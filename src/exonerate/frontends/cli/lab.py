"""`exonerate lab`: scenarios with a known culprit, and how `locate` does on them."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import click

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.lab_runs import LabRun, Results, play_scenario
from exonerate.frontends.cli.output import ProgressLine, print_json, text_width
from exonerate.lab.scenario import Scenario, Template, builtin_scenarios, draw, read_template
from exonerate.lab.stage import missing, staged
from exonerate.report.lab import lab_json, lab_text

SECONDS_PER_RUN = 40.0
"""What a run took on two quiet cores, for the estimate that is printed beforehand."""


@click.group()
def lab() -> None:
    """Scenarios with a known culprit: list them, put one up, or score `locate` on them."""


@lab.command("list", epilog="\b\nExample:\n  exonerate lab list")
def list_scenarios() -> int:
    """Show every scenario that comes with Exonerate, and what this host lacks for it."""
    for template in builtin_scenarios():
        scenario = _drawn(template)
        lacking = missing(scenario)
        note = f"   needs {', '.join(lacking)}" if lacking else ""
        click.echo(f"{scenario.id:6} {scenario.title}{note}")
    return exit_status.DONE


@lab.command(
    "run",
    epilog="\b\nExamples:\n"
    "  exonerate lab run S1 S20\n"
    "  exonerate lab run my-scenario.toml --seeds 5\n"
    "  exonerate lab run --all --seeds 5 --results lab.jsonl",
)
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every scenario this host can stage.")
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True)
@click.option("--first-seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--results", type=click.Path(path_type=Path), help="Keep each run here and skip those done."
)
@click.option("--json", "as_json", is_flag=True, help="Print exonerate.lab/1.")
def run(
    names: tuple[str, ...],
    everything: bool,
    seeds: int,
    first_seed: int,
    results: Path | None,
    as_json: bool,
) -> int:
    """Stage scenarios, run `locate` on each, and score its verdicts against the known culprit.

    A NAME is the id of a scenario or the path of a scenario file. Exit status 1 when an innocent
    was accused.
    """
    templates = _chosen(names, everything)
    wanted = [(t, seed) for t in templates for seed in range(first_seed, first_seed + seeds)]
    kept = Results(results)
    todo = [(t, seed) for t, seed in wanted if not kept.has(_drawn(t).id, seed)]
    minutes = len(todo) * SECONDS_PER_RUN / 60
    click.echo(f"{len(todo)} runs to play, about {minutes:.0f} minutes", err=True)
    progress = ProgressLine(quiet=as_json)
    for number, (template, seed) in enumerate(todo):
        progress(f"{_drawn(template).id} seed {seed}", number / len(todo))
        kept.add(play_scenario(template, seed))
    progress.done()
    ids = {(_drawn(t).id, seed) for t, seed in wanted}
    runs = [r for r in kept.runs if (r.scenario, r.seed) in ids]
    return _report(runs, as_json)


@lab.command(
    "up", epilog="\b\nExample:\n  exonerate lab up S1      then, elsewhere: exonerate locate"
)
@click.argument("name")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def up(name: str, seed: int) -> int:
    """Put one scenario up and keep it until Ctrl-C; prints its deployment file."""
    template = _template(name)
    progress = ProgressLine()
    with (
        tempfile.TemporaryDirectory(prefix="exonerate-lab-") as folder,
        staged(template, seed=seed, folder=Path(folder), progress=progress) as stage,
    ):
        progress.done()
        click.echo(f"{stage.scenario.id} stands; try it with:")
        click.echo(f"  exonerate locate -c {stage.deployment}")
        click.echo("Ctrl-C ends it.")
        signal.pause()
    return exit_status.DONE


def _report(runs: list[LabRun], as_json: bool) -> int:
    if as_json:
        print_json(lab_json(runs))
    else:
        click.echo(lab_text(runs, width=text_width()))
    return exit_status.FINDING if any(r.false_accusation for r in runs) else exit_status.DONE


def _chosen(names: tuple[str, ...], everything: bool) -> list[Template]:
    if everything == bool(names):
        raise click.UsageError("name scenarios, or give --all")
    if everything:
        return [t for t in builtin_scenarios() if not missing(_drawn(t))]
    return [_template(name) for name in names]


def _template(name: str) -> Template:
    if name.endswith(".toml"):
        return read_template(Path(name))
    known = {_drawn(t).id.lower(): t for t in builtin_scenarios()}
    if name.lower() not in known:
        raise ExonerateError(f"there is no scenario `{name}`", "see `exonerate lab list`")
    return known[name.lower()]


def _drawn(template: Template) -> Scenario:
    ports = dict.fromkeys(template.port_names, 1)
    return draw(template, seed=1, ports=ports)
