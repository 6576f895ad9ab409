"""`locate --run -- COMMAND` and `locate --capture FILE`: the victim as it really is."""

from __future__ import annotations

import functools
import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from exonerate.compose import ledger_place, observatory
from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Deployment
from exonerate.core.json_types import JsonObject
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.capturing import capture_of
from exonerate.frontends.cli.case_options import CaseOptions, case_to_write
from exonerate.frontends.cli.duration import Duration
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.output import ProgressLine
from exonerate.jobs.capture import Capture, read_capture, recording_of
from exonerate.jobs.case import CaseBook
from exonerate.jobs.observe import ObserveRequest, observe

Command = TypeVar("Command", bound=Callable[..., Any])
PROGRAM = "exonerate.program"
RUN_LIMIT = "10m"


class CommandWithProgram(click.Command):
    """A command that leaves everything behind `--` alone: it is another program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Cut the program off before click looks at its options."""
        if "--" in args:
            cut = args.index("--")
            ctx.meta[PROGRAM] = tuple(args[cut + 1 :])
            args = args[:cut]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class VictimOptions:
    """Where the victim is to be had from."""

    program: tuple[str, ...] | None
    run_limit_s: float
    capture: Capture | None
    record: Path | None = None

    def model(self) -> str | None:
        """The model that the captured requests named; learnt from the run where one is made."""
        if self.capture is not None:
            return self.capture.model
        return "" if self.program is not None else None

    def shaped(self, deployment: Deployment) -> Deployment:
        """The deployment with the captured victim's shape, where a capture was given."""
        if self.capture is None:
            return deployment
        return replace(deployment, victim=self.capture.victim(deployment.victim))


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of `locate` besides."""

    seed: int
    budget_s: float
    symptom: str | None
    gentle: bool
    packets: bool = False


def program_options(command: Command) -> Command:
    """Adds `--run`, `--run-limit` and `--capture`; the command gets them as `victim`."""

    @functools.wraps(command)
    def with_victim(
        *arguments: Any,
        run_program: bool,
        run_limit: float,
        record: Path | None,
        capture: Path | None,
        **more: Any,
    ) -> Any:
        program = click.get_current_context().meta.get(PROGRAM)
        _check(run_program, program, capture)
        captured = None if capture is None else read_capture(capture)
        options = VictimOptions(program, run_limit, captured, record)
        return command(*arguments, victim=options, **more)

    wrapped: Any = with_victim
    wrapped = click.option(
        "--capture",
        type=click.Path(path_type=Path),
        help="The victim's requests: a HAR, or what `--record` wrote.",
    )(wrapped)
    wrapped = click.option(
        "--record",
        type=click.Path(path_type=Path),
        help="Write what crossed the tap into a file, without its texts, for `--capture`.",
    )(wrapped)
    wrapped = click.option(
        "--run-limit",
        type=Duration(),
        default=RUN_LIMIT,
        show_default=True,
        help="How long the program may run; Ctrl-C ends it earlier, and what crossed is judged.",
    )(wrapped)
    result: Command = click.option(
        "--run",
        "run_program",
        is_flag=True,
        help="Run the program behind `--` through a tap, and judge from what crossed.",
    )(wrapped)
    return result


def run_observed(
    deployment: Deployment,
    where: CaseOptions,
    victim: VictimOptions,
    asked: Asked,
    *,
    quiet: bool,
) -> JsonObject:
    """Run the victim's program through a tap and return the verdict."""
    program = victim.program
    assert program is not None
    place = ledger_place(where.ledger, where.config)
    progress = ProgressLine(quiet=quiet)
    try:
        with (
            capture_of(deployment, wanted=asked.packets) as capture,
            observatory(
                deployment, place, program, stdout_to_stderr=quiet, capture=capture
            ) as watching,
        ):
            workbench = watching.workbench
            book = CaseBook(workbench.ledger, workbench.redactor)
            title = f"what {Path(program[0]).name} and {deployment.name} do to each other"
            case = case_to_write(
                where, workbench.ledger, book, title=title, symptom=asked.symptom or "hang"
            )
            request = ObserveRequest(
                case=case.id,
                run=f"locate-{secrets.token_hex(4)}",
                seed=asked.seed,
                budget_s=asked.budget_s,
                run_limit_s=victim.run_limit_s,
                tap_port=watching.tap_port,
                program=Path(program[0]).name,
                symptom=asked.symptom,
                gentle=asked.gentle,
                packets=asked.packets,
            )
            job = observe(
                deployment,
                request,
                ledger=workbench.ledger,
                player=workbench.player,
                redactor=workbench.redactor,
                progress=progress,
            )
            answer = run_async(
                watching.taps.during(job if capture is None else capture.during(job))
            )
            if victim.record is not None:
                _write_recording(victim.record, workbench.ledger.records(run=request.run))
            return answer
    finally:
        progress.done()


def _write_recording(path: Path, records: Sequence[Record]) -> None:
    try:
        path.write_text(json.dumps(recording_of(records)) + "\n", encoding="utf-8")
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be written: {error.strerror}", "name another file with `--record`"
        ) from error


def _check(run_program: bool, program: tuple[str, ...] | None, capture: Path | None) -> None:
    if run_program and not program:
        raise ExonerateError(
            "`--run` needs a program", "example: `exonerate locate --run -- python agent.py`"
        )
    if program and not run_program:
        raise ExonerateError(
            "a program is given behind `--`, and not what to do with it", "add `--run`"
        )
    if program and shutil.which(program[0]) is None:
        raise ExonerateError(
            f"there is no program `{program[0]}`", "give its path, or look at $PATH"
        )
    if program and capture is not None:
        raise ExonerateError(
            "`--run` and `--capture` were both given", "the run itself shows the victim's requests"
        )
