"""The options by which a command finds its deployment, its ledger and its case."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from exonerate.compose import deployment_if_any, ledger_at, redactor_of
from exonerate.core.case.model import Case
from exonerate.core.deployment.model import Deployment
from exonerate.core.ports import Ledger
from exonerate.jobs.case import CaseBook, find_case

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """`-c FILE`, `--ledger URL` and `--case ID` as they were given."""

    config: Path | None
    ledger: str | None
    case: str | None

    def open_ledger(self) -> Ledger:
        """The ledger that the command reads or writes; nothing is made by reading."""
        return ledger_at(self.ledger, self.config)

    def deployment(self) -> Deployment | None:
        """The deployment, where a file is named or found."""
        return deployment_if_any(self.config)

    def open_book(self) -> tuple[Ledger, CaseBook]:
        """The ledger and what writes cases into it."""
        ledger = ledger_at(self.ledger, self.config)
        return ledger, CaseBook(ledger, redactor_of(ledger, self.deployment()))


def ledger_options(command: Command) -> Command:
    """Adds `-c` and `--ledger`; the command gets them as `where`."""
    return _with_options(command, with_case=False)


def case_options(command: Command) -> Command:
    """Adds `-c`, `--ledger` and `--case`; the command gets them as `where`."""
    return _with_options(command, with_case=True)


def case_to_write(
    where: CaseOptions,
    ledger: Ledger,
    book: CaseBook,
    *,
    title: str,
    symptom: str | None = None,
) -> Case:
    """The case a command records into: the given one, the only open one, or a new one.

    A new one is named on stderr.

    Raises:
        ExonerateError: there is no such case, or several are open and none was named.
    """
    case = find_case(ledger, where.case)
    if case is not None:
        return case
    deployment = where.deployment()
    name = deployment.name if deployment is not None else None
    identity = book.open(title, symptom=symptom, deployment=name)
    click.echo(f"opened case {identity}: {title}", err=True)
    opened = find_case(ledger, identity)
    assert opened is not None
    return opened


def _with_options(command: Command, *, with_case: bool) -> Command:
    @functools.wraps(command)
    def with_where(
        *arguments: Any,
        config: Path | None,
        ledger: str | None,
        case_id: str | None = None,
        **more: Any,
    ) -> Any:
        return command(*arguments, where=CaseOptions(config, ledger, case_id), **more)

    wrapped: Any = with_where
    if with_case:
        wrapped = click.option(
            "--case", "case_id", metavar="ID", help="The case; default: the only open one."
        )(wrapped)
    wrapped = click.option(
        "--ledger", metavar="URL", help="Path or postgresql:// address of the ledger."
    )(wrapped)
    result: Command = click.option(
        "-c", "--config", type=click.Path(path_type=Path), help="The deployment file."
    )(wrapped)
    return result
