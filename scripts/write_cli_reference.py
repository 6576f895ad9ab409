"""Writes docs/cli.md from the help texts of the commands; with --check, only compares.

A program of its own, because a command keeps the help option of whoever asked it first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from exonerate.frontends.cli.main import cli

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
WIDTH = 96
HEAD = """\
# Command line

Written by `make docs` from the help texts; change those, not this page.

Data goes to stdout, everything else to stderr. Exit status: 0 nothing wrong or done, 1 a finding,
2 you must change something, 3 the evidence does not suffice, 4 a defect of Exonerate,
130 interrupted. `NO_COLOR` is respected. `-c FILE` names the deployment file (default:
`exonerate.toml` here or in a parent folder), `--ledger URL` the ledger (default:
`.exonerate/ledger.db` beside that file, or what `EXONERATE_LEDGER` says).
"""


def reference() -> str:
    """The whole page."""
    sections = [
        f"{'#' * min(len(words) + 1, 4)} `{' '.join(words)}`\n\n```text\n{text}\n```\n"
        for words, text in _helps(cli, ("exonerate",))
    ]
    return "\n".join([HEAD, *sections])


def _helps(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    context = click.Context(
        command, info_name=" ".join(words), terminal_width=WIDTH, max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    yield words, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _helps(below, (*words, name))


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.read_text() == reference() else "docs/cli.md is old: run `make docs`")
    PAGE.write_text(reference())
