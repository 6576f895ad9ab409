"""The live view of a benchmark, on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

import click

from exonerate.core.json_types import JsonObject
from exonerate.core.workload.bench_spec import BenchCell
from exonerate.core.workload.summary import CellSummary


class LiveView:
    """One line that says how far the cell is, what it does and how long it still takes."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._cell: BenchCell | None = None
        self._begun_s = 0.0
        self._workers: dict[int, Any] = {}
        self._last = (0.0, 0)
        self._rate = 0.0

    def begin(self, cell: BenchCell) -> None:
        """A cell begins."""
        self._cell = cell
        self._begun_s = time.monotonic()
        self._workers.clear()
        self._last = (self._begun_s, 0)
        self._rate = 0.0
        if not self._live:
            self._say(f"{cell.name}: begins")

    def show(self, worker: JsonObject) -> None:
        """A worker said how far it is."""
        said: Any = worker
        self._workers[said["worker"]] = said
        if not self._live or self._cell is None:
            return
        now_s = time.monotonic()
        events = self._sum("events")
        if now_s - self._last[0] >= 1.0:
            self._rate = (events - self._last[1]) / (now_s - self._last[0])
            self._last = (now_s, events)
        share = self._share(now_s)
        left = "" if not share else f", {(now_s - self._begun_s) * (1 - share) / share:.0f} s left"
        failed = self._sum("failed")
        trouble = f", {failed} not complete" if failed else ""
        self._rewrite(
            f"{self._cell.name}: {self._sum('ended')} requests, {self._sum('in_flight')} in "
            f"flight, {self._rate:,.0f} tok/s{trouble}{left}"
        )

    def end(self, summary: CellSummary) -> None:
        """A cell has ended."""
        rate = summary.output_tokens_per_s
        speed = "" if rate is None else f", {rate:,.1f} tok/s"
        if self._live:
            self._rewrite("")
        self._say(f"{summary.load}: {summary.complete} of {summary.requests} complete{speed}")

    def _say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text, err=True)

    def _rewrite(self, text: str) -> None:
        room = max(20, shutil.get_terminal_size((100, 24)).columns - 1)
        click.echo(f"\r\x1b[2K{text[:room]}", err=True, nl=False)

    def _sum(self, name: str) -> int:
        return sum(int(worker[name]) for worker in self._workers.values())

    def _share(self, now_s: float) -> float | None:
        cell = self._cell
        assert cell is not None
        if cell.requests:
            return min(1.0, self._sum("ended") / (cell.requests * cell.rounds))
        if cell.duration_s:
            return min(1.0, (now_s - self._begun_s) / cell.duration_s)
        return None
