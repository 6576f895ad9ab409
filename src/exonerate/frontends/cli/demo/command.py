"""The command `exonerate demo`: sets the stage, tells the story, leaves nothing running."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from exonerate.compose import LEDGER_VARIABLE
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.demo.narrator import Narrator
from exonerate.frontends.cli.demo.stage import Stage
from exonerate.frontends.cli.demo.story import FAST, FULL, STEPS, Story, innocent_path
from exonerate.frontends.cli.output import ProgressLine
from exonerate.lab.guard import guarded

OTHER_CLIENTS = 4
SLOTS, SLOTS_SATURATED = 4, 1


@click.command(
    epilog="\b\nExamples:\n"
    "  exonerate demo --fast\n"
    "  exonerate demo --keep my-demo     then: cd my-demo; exonerate case report"
)
@click.option("--fast", is_flag=True, help="Under two minutes: fewer requests and blocks.")
@click.option(
    "--keep", type=click.Path(path_type=Path),
    help="Leave the deployment file, ledger and reports in this new folder.",
)  # fmt: skip
@click.option("--healthy", is_flag=True, help="The proxy has no fault: nobody may be accused.")
@click.option("--saturated", is_flag=True, help="No fault, but an engine with too much to do.")
@click.option("--seed", type=int, help="Seed of prompts and order; random when left out.")
def demo(fast: bool, keep: Path | None, healthy: bool, saturated: bool, seed: int | None) -> int:
    """Tell the founding story on real parts: a wedged agent, a wrong suspect, the guilty proxy.

    Runs a real llama.cpp server with a small real model, a proxy with a fault and an agent
    harness, all on 127.0.0.1. The model (93 MB) is fetched once, into the cache folder. Nothing is
    replayed: every number is measured in this run.
    """
    if healthy and saturated:
        raise click.UsageError("--healthy and --saturated are two different endings")
    chosen = seed if seed is not None else secrets.randbelow(1 << 20)
    temporary = keep is None
    with _folder(keep) as folder, guarded(folder if temporary else None), _inside(folder):
        stage = _set_stage(folder, chosen, SLOTS_SATURATED if saturated else SLOTS)
        with stage.engine_stopped_at_the_end(), ExitStack() as processes:
            if healthy or saturated:
                clients = OTHER_CLIENTS if saturated else 0
                return innocent_path(stage, Narrator(2), processes, clients)
            story = Story(stage, FAST if fast else FULL, Narrator(STEPS), processes)
            status = story.tell()
    if keep is not None:
        click.echo(f"\nLeft in `{keep}`: look with `cd {keep}`, then `exonerate case report`.")
    return status


def _set_stage(folder: Path, seed: int, slots: int) -> Stage:
    try:
        import xllamacpp  # noqa: F401  # the engine is an optional extra

        from exonerate.lab.model import fetch_model
        from exonerate.lab.processes import free_ports
    except ImportError as error:
        raise ExonerateError(
            f"the demo needs the embedded engine: {error}",
            "install it: pip install 'exonerate[lab]'",
        ) from error
    progress = ProgressLine()
    model = fetch_model(None, progress)
    progress.done()
    engine_port, proxy_port = free_ports(2)
    stage = Stage(folder, model, engine_port, proxy_port, slots, seed)
    stage.write()
    return stage


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """The folder to keep, which must be new or empty, or a temporary one."""
    if keep is None:
        folder = _temporary_folder()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        occupied = any(keep.iterdir())
    except OSError as error:
        raise ExonerateError(
            f"`{keep}` cannot be used: {error.strerror}", "name another folder with `--keep`"
        ) from error
    if occupied:
        raise ExonerateError(f"`{keep}` is not empty", "name a new folder with `--keep`")
    yield keep.resolve()


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="exonerate-demo-"))
    except OSError as error:
        raise ExonerateError(
            f"no temporary folder can be made: {error.strerror or error}",
            "free some space, or name a folder: `export TMPDIR=/some/folder`, or `--keep DIR`",
        ) from error


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in the folder, with its own ledger and temporary files whatever the environment says."""
    foreign = os.environ.pop(LEDGER_VARIABLE, None)
    elsewhere, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        tempfile.tempdir = elsewhere
        if foreign is not None:
            os.environ[LEDGER_VARIABLE] = foreign
