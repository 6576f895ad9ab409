"""`exonerate bench --case`: the result as evidence of a case.

Apart from `bench`, which imports it only where a case is named: what a ledger needs is larger than
the whole load generator and would lie in memory beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from exonerate.compose import system_clock
from exonerate.core.json_types import JsonObject
from exonerate.frontends.cli.case_options import CaseOptions
from exonerate.jobs.bench_record import record_bench
from exonerate.jobs.case import needed_case


def recorder(config: Path | None, ledger: str | None, case_id: str) -> Callable[[JsonObject], None]:
    """What puts an answer into the case; made before the run, so that a wrong id stops it.

    Raises:
        ExonerateError: there is no such case.
    """
    opened, book = CaseOptions(config, ledger, case_id).open_book()
    case = needed_case(opened, case_id)

    def record(answer: JsonObject) -> None:
        identity = record_bench(answer, case=case, book=book, clock=system_clock())
        click.echo(f"added {identity} to case {case.id}", err=True)

    return record
