"""`exonerate init`: write a commented deployment file by looking at URLs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from exonerate.compose import DEPLOYMENT_FILE, page_reader, series_reader
from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.urls import Url
from exonerate.jobs.survey import draft_deployment


@click.command(
    epilog="\b\nExample:\n  exonerate init http://127.0.0.1:8080 http://127.0.0.1:8000 --model dsv4"
)
@click.argument("urls", nargs=-1, required=True, type=Url())
@click.option("--model", help="What requests name; read from the engine when left out.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path(DEPLOYMENT_FILE),
    show_default=True, help="Where to write; `-` prints it.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def init(urls: tuple[str, ...], model: str | None, output: Path, force: bool) -> int:
    """Write a commented exonerate.toml for these URLs, client side first, the engine last.

    Only model lists and metrics pages are read; no completion is sent.
    """
    text = run_async(draft_deployment(urls, model, page_reader(), series_reader()))
    if str(output) == "-":
        click.echo(text, nl=False)
        return exit_status.DONE
    _write(output, text, force)
    click.echo(f"wrote `{output}`; look at it, then run `exonerate status`", err=True)
    return exit_status.DONE


def _write(path: Path, text: str, force: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with os.fdopen(os.open(path, flags, 0o644), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ExonerateError(
            f"`{path}` is there already", "name another with `-o FILE`, or replace it with --force"
        ) from error
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be written: {error.strerror}", "name another with `-o FILE`"
        ) from error
