"""Writes the pages that repeat the source: docs/cli.md from the help texts of the commands, the
table of classes in docs/locate.md from the catalogue, what a key must be in docs/deployment.md from
the parser. With --check, only compares.

A program of its own, because a command keeps the help option of whoever asked it first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from exonerate.core.deployment.fields import SECTIONS
from exonerate.core.diagnosis.catalogue.registry import BUILT_IN
from exonerate.core.diagnosis.suspect import SuspectClass
from exonerate.frontends.cli.main import cli

DOCS = Path(__file__).resolve().parent.parent / "docs"
CLASSES_BEGIN = "<!-- Written by `make docs` from the catalogue. -->\n"
CLASSES_END = "<!-- End of what is written. -->\n"
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


def pages() -> dict[Path, str]:
    """Every written page, as it should be now."""
    locate = DOCS / "locate.md"
    before, _, rest = locate.read_text().partition(CLASSES_BEGIN)
    after = rest.partition(CLASSES_END)[2]
    table = f"{before}{CLASSES_BEGIN}{_classes()}{CLASSES_END}{after}"
    deployment = DOCS / "deployment.md"
    keys = re.sub(
        r"^## `\[+(\w+)\]+`\n.*?(?=^## |\Z)",
        _section,
        deployment.read_text(),
        flags=re.MULTILINE | re.DOTALL,
    )
    return {DOCS / "cli.md": _command_line(), locate: table, deployment: keys}


def _section(found: re.Match[str]) -> str:
    """A section of the deployment page: the second cell of each key's row is what it must be."""
    fields, _ = SECTIONS[found[1]]

    def row(cells: re.Match[str]) -> str:
        rule = fields.get(cells[1])
        right = str(rule.check(object())).partition(";")[0] if rule else cells[2]
        return f"| `{cells[1]}` | {right} |"

    return re.sub(r"^\| `(\w+)` \| ([^|]*) \|", row, found[0], flags=re.MULTILINE)


def _command_line() -> str:
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


def _classes() -> str:
    rows = sorted({_row(one) for one in BUILT_IN})
    return "\n".join(["| class | layer | at | it |", "|---|---|---|---|", *rows]) + "\n"


def _row(one: SuspectClass) -> str:
    layer = one.layer if one.is_fault else "(nobody's fault)"
    places = ", ".join(one.roles) or "the path"
    return f"| `{one.slug}` | {layer} | {places} | {one.mechanism} |"


if __name__ == "__main__":
    old = {
        page: text
        for page, text in pages().items()
        if not page.exists() or page.read_text() != text
    }
    if "--check" in sys.argv[1:] and old:
        sys.exit(f"run `make docs`: {', '.join(page.name for page in old)} is old")
    for page, text in old.items():
        page.write_text(text)
