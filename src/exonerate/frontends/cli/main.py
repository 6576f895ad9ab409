"""The command line: parse, call one job, print one report.

Each command lives in a module of its own and is imported only when it is asked for, so that
`exonerate --help` starts fast. `COMMANDS` maps the command's words to `module:attribute`.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from typing import NoReturn

import click

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status, interrupts
from exonerate.frontends.cli.output import forgive_letters

COMMANDS: dict[str, tuple[str, str]] = {
    # command: (module:attribute, one-line help shown in the list)
    "demo": (
        "exonerate.frontends.cli.demo.command:demo",
        "Tell the founding story on a real engine, in a few minutes.",
    ),
    "init": (
        "exonerate.frontends.cli.init:init",
        "Write a commented deployment file by looking at URLs.",
    ),
    "status": (
        "exonerate.frontends.cli.status:status",
        "Show every hop, engine and knob, and what is out of reach.",
    ),
    "locate": (
        "exonerate.frontends.cli.locate:command",
        "Find the guilty layer, clear the innocent, or say that nobody is.",
    ),
    "snapshot": (
        "exonerate.frontends.cli.snapshot:command",
        "Look at processes and hops while it hangs, without a request to anybody.",
    ),
    "bench": (
        "exonerate.frontends.cli.bench:command",
        "Throughput and latency at given loads, with the raw records.",
    ),
    "knob": (
        "exonerate.frontends.cli.knob:knob",
        "List, diff, revert, restore or adopt one setting, as a recorded intervention.",
    ),
    "ab": ("exonerate.frontends.cli.ab:command", "Compare two values of one knob, in blocks."),
    "aa": (
        "exonerate.frontends.cli.aa:command",
        "Restart a service against itself: the noise of this host.",
    ),
    "case": (
        "exonerate.frontends.cli.case:case",
        "Open, show and verify cases; add suspects and evidence.",
    ),
    "debt": (
        "exonerate.frontends.cli.debt:debt",
        "What every standing revert costs, and whether its reason still stands.",
    ),
    "lab": (
        "exonerate.frontends.cli.lab:lab",
        "Scenarios with a known culprit, and how `locate` does on them.",
    ),
    "read": (
        "exonerate.frontends.cli.read:read",
        "Read documents and result files as graded evidence.",
    ),
    "splitk": (
        "exonerate.frontends.cli.splitk:splitk",
        "Split-K decode attention: waves, cliffs, exactness, speed.",
    ),
}


_FULL = (errno.ENOSPC, errno.EDQUOT)


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that was asked for."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module_name, attribute = entry[0].split(":")
        command = getattr(importlib.import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing one of them."""
        if COMMANDS:
            with formatter.section("Commands"):
                formatter.write_dl([(name, entry[1]) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `exonerate demo`, or at 3 a.m. with `exonerate locate URL URL --model M`.",
)
@click.version_option(package_name="exonerate")
def cli() -> None:
    """Find the layer that is really to blame when an LLM service misbehaves.

    Data goes to stdout, everything else to stderr. Exit status: 0 nothing wrong or done,
    1 a finding, 2 you must change something, 3 the evidence does not suffice, 4 a defect of
    Exonerate, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with the exit status that DESIGN promises."""
    interrupts.install()
    forgive_letters()
    try:
        status = cli.main(args=arguments, prog_name="exonerate", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        status = exit_status.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of stdout went away (`| head`), for which click exits with 1: a finding here.
        status = exit_status.DONE
    except Exception as error:  # noqa: BLE001  # the one place that judges what nobody caught
        status = _failed(error)
    interrupts.leave()
    _leave_quietly()
    sys.exit(status if isinstance(status, int) else exit_status.DONE)


def _failed(error: Exception) -> int:
    """Say what went wrong, and to whom it belongs: the operator, or us."""
    if interrupts.interrupted():
        return exit_status.INTERRUPTED  # what a signal tears down may fail in any way
    if isinstance(error, ExonerateError):
        _complain(error.problem, error.hint)
        return exit_status.OPERATOR
    if isinstance(error, click.ClickException):
        error.show()
        return exit_status.OPERATOR
    if isinstance(error, OSError) and error.errno in _FULL:
        _complain(f"no space is left: {error}", "free some space and run the command again")
        return exit_status.OPERATOR
    traceback.print_exception(error)
    click.echo("\nerror: this is a defect of Exonerate; please report it", err=True)
    return exit_status.DEFECT


def _leave_quietly() -> None:
    """Nothing is left to say to a reader that went away (`| head`): Python would complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(problem: str, hint: str) -> None:
    click.echo(f"error: {problem}", err=True)
    if hint:
        click.echo(f"\nhint: {hint}", err=True)
