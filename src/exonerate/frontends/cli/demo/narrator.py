"""How the demo speaks: a heading and a line or two for each step, and the commands it gives."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import click

from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.output import colour_wanted, text_width


class Narrator:
    """Prints the story; `steps` is how many there will be."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._step = 0

    def step(self, title: str, text: str) -> None:
        """Begin the next step."""
        self._step += 1
        head = f" {self._step}/{self._steps}  {title} "
        click.echo()
        click.echo(self._styled(head.ljust(text_width(), "─"), bold=True))
        self.say(text)

    def say(self, text: str) -> None:
        """A sentence of the story."""
        for line in textwrap.wrap(text, width=min(96, text_width())):
            click.echo(line)

    def command(self, words: Sequence[str]) -> int:
        """Give a command of Exonerate as a user would, show its output, return its status."""
        from exonerate.frontends.cli.main import cli

        shown = " ".join(_quoted(word) for word in words)
        click.echo(self._styled(f"\n$ exonerate {shown}", fg="cyan"))
        status = cli.main(args=list(words), prog_name="exonerate", standalone_mode=False)
        return status if isinstance(status, int) else exit_status.DONE

    def _styled(self, text: str, *, bold: bool = False, fg: str | None = None) -> str:
        return click.style(text, bold=bold, fg=fg) if colour_wanted() else text


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word
