"""`exonerate splitk`: the split-K component; each subcommand is imported when it is used."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    # subcommand: (module:attribute, one-line help)
    "plan": (
        "exonerate.frontends.cli.splitk_plan:plan",
        "waves, cliffs and a better target or split count for a rule",
    ),
    "fit": (
        "exonerate.frontends.cli.splitk_fit:fit",
        "which rule explains a throughput table, and how far to believe it",
    ),
    "check": (
        "exonerate.frontends.cli.splitk_check:check",
        "what is true of an implementation: determinism, invariance, NaN, bounds",
    ),
    "bench": (
        "exonerate.frontends.cli.splitk_check:bench",
        "speed of implementations side by side",
    ),
}


class SplitkGroup(click.Group):
    """Imports a subcommand only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, in the order of the table."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand that was asked for."""
        entry = SUBCOMMANDS.get(cmd_name)
        if entry is None:
            return None
        module_name, attribute = entry[0].split(":")
        command = getattr(importlib.import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[1]) for name, entry in SUBCOMMANDS.items()])


@click.group(cls=SplitkGroup)
def splitk() -> None:
    """Split-K decode attention: what its knob really does, and what it really risks.

    \b
    Examples:
      exonerate splitk plan --gpu "RTX PRO 6000" --concurrency 48:96:16 --target 256,512
      exonerate splitk fit throughput.csv --gpu "RTX PRO 6000"
      exonerate splitk check our_kernels.decode:attend
    """
