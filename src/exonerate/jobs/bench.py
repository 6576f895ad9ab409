"""The job `bench`: play loads one after the other, write the raw result, fold it into a summary.

The result file is written as the run goes (header, then for each cell its requests and its end),
so that Ctrl-C or a crash leaves everything that was measured. The summary is folded from the file
and from nothing else: `exonerate bench export` and `compare` read the same bytes later.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Clock
from exonerate.core.version import VERSION
from exonerate.core.workload.bench_spec import SCHEMA, BenchCell, BenchSpec, worker_plans
from exonerate.core.workload.engine_window import engine_window
from exonerate.core.workload.instrument import InstrumentFold
from exonerate.core.workload.result_blocks import (
    MAGIC,
    RequestRecord,
    encode_json,
    read_bare_blocks,
    read_blocks,
)
from exonerate.core.workload.summary import CellFold, CellSummary
from exonerate.errors import ExonerateError

SAMPLE_EVERY_S = 1.0
OPEN_KINDS = ("poisson", "constant", "trace", "replay")
TIME_LIMIT_S = 6 * 3600.0
Facts = Mapping[str, Any]


class LoadRunner(Protocol):
    """Runs one load worker; `facts` keeps its last words also when it is cancelled."""

    async def __call__(
        self,
        job: Mapping[str, Any],
        spool: Path,
        progress: Callable[[JsonObject], None],
        *,
        facts: dict[str, Any],
    ) -> Facts:
        """Play the job, write request blocks into the spool."""


class EngineSampler(Protocol):
    """Looks at the engine once."""

    async def sample(self) -> Mapping[str, float]:
        """Canonical counters and CPU time, as far as they can be had."""


class BenchView(Protocol):
    """Shows the run while it runs."""

    def begin(self, cell: BenchCell) -> None:
        """A cell begins."""

    def show(self, worker: JsonObject) -> None:
        """A worker said how far it is."""

    def end(self, summary: CellSummary) -> None:
        """A cell has ended."""


@dataclass(frozen=True, slots=True)
class BenchTools:
    """What the job needs of the world."""

    clock: Clock
    run_load: LoadRunner
    engine: EngineSampler | None
    view: BenchView


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell as its file tells it."""

    summary: CellSummary
    instrument: Mapping[str, Json]
    engine: Mapping[str, Json]
    timeline: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BenchResult:
    """A whole result file, folded."""

    header: JsonObject
    cells: tuple[CellResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def client_bound(self) -> bool:
        """At least one cell measured the client and not the service."""
        return any(cell.instrument.get("client_bound") for cell in self.cells)

    def to_json(self, path: str) -> dict[str, Json]:
        """What `exonerate bench --json` prints."""
        return {
            "schema": SCHEMA,
            "result": path,
            "valid": not self.client_bound,
            "invalid": "client-bound" if self.client_bound else None,
            "header": self.header,
            "cells": [
                {
                    **cell.summary.to_json(),
                    "instrument": dict(cell.instrument),
                    "engine": dict(cell.engine),
                }
                for cell in self.cells
            ],
            "notes": list(self.notes),
        }


async def run_bench(
    spec: BenchSpec, tools: BenchTools, out: Path, *, bodies: Sequence[bytes] = ()
) -> BenchResult:
    """Play every cell and return the folded result; interrupting keeps what was measured.

    `bodies` are sent instead of seeded prompts, in turn; a replay has one for each request.
    """
    header = spec.header(version=VERSION, wall=tools.clock.wall())
    with out.open("wb") as result:
        result.write(MAGIC)
        result.write(encode_json(header))
        runs = [_CellRun(spec, cell, at, tools, bodies) for at, cell in enumerate(spec.cells)]
        notes: list[str] = []
        try:
            for run in runs:
                await run.play(result)
        except asyncio.CancelledError:
            # Ctrl-C: what was measured is in the file, and the report is about that.
            notes.append("interrupted")
            result.write(encode_json({"type": "note", "text": notes[0]}))
    cells = tuple(run.result for run in runs if run.result is not None)
    return BenchResult(header, cells, tuple(notes))


def read_result(path: Path) -> BenchResult:
    """Fold a result file; raises ExonerateError where it is none."""
    try:
        with path.open("rb") as file:
            return _Reader().read(file)
    except OSError as error:
        raise ExonerateError(
            f"`{path}` cannot be read: {error.strerror}", "give the file that `bench` named"
        ) from error
    except ValueError as error:
        raise ExonerateError(f"`{path}`: {error}", "give the file that `bench` named") from error


@dataclass(slots=True)
class _CellRun:
    """One cell under way."""

    spec: BenchSpec
    cell: BenchCell
    number: int
    tools: BenchTools
    bodies: Sequence[bytes]
    facts: list[dict[str, Any]] = field(default_factory=list)
    samples: list[tuple[int, Mapping[str, float]]] = field(default_factory=list)
    result: CellResult | None = None

    async def play(self, file: BinaryIO) -> None:
        """Run the workers, copy their spools into the result, say how it ended."""
        self.tools.view.begin(self.cell)
        with tempfile.TemporaryDirectory(prefix="exonerate-") as folder:
            spools = [Path(folder) / f"{number}" for number, _ in enumerate(self._plans())]
            try:
                await self._run(spools)
            finally:
                self._write(spools, file)

    async def _run(self, spools: Sequence[Path]) -> None:
        await self._sample()
        async with asyncio.TaskGroup() as group:
            sampling = group.create_task(self._keep_sampling())
            async with asyncio.TaskGroup() as load:
                for number, (plan, spool) in enumerate(zip(self._plans(), spools, strict=True)):
                    facts: dict[str, Any] = {}
                    self.facts.append(facts)
                    job = self._job(number, plan)
                    load.create_task(
                        self.tools.run_load(job, spool, self.tools.view.show, facts=facts)
                    )
            sampling.cancel()
        await self._sample()

    def _plans(self) -> list[dict[str, Any]]:
        return worker_plans(self.cell, self.spec)

    def _job(self, number: int, plan: Mapping[str, Any]) -> dict[str, Any]:
        workers = len(self._plans())
        spec = self.spec
        return {
            "cell": f"{self.cell.name}/{number}",
            "cell_number": self.number,
            "worker": number,
            "index_step": workers,
            "url": spec.url,
            "request": asdict(spec.request),
            "bodies": [body.decode() for body in self.bodies[number::workers]]
            if self.cell.open_loop
            else [body.decode() for body in self.bodies],
            "plan": plan,
            "warmup_requests": spec.warmup_requests // workers,
            "deadline_s": spec.deadline_s,
            "time_limit_s": TIME_LIMIT_S,
            "batch_s": spec.batch_s,
            "ca": spec.ca,
        }

    async def _keep_sampling(self) -> None:
        while self.tools.engine is not None:
            await asyncio.sleep(SAMPLE_EVERY_S)
            await self._sample()

    async def _sample(self) -> None:
        if self.tools.engine is not None:
            asked_ns = self.tools.clock.now()
            values = await self.tools.engine.sample()
            # A busy engine takes its time for the page; the counters are of somewhere in between.
            self.samples.append(((asked_ns + self.tools.clock.now()) // 2, values))

    def _write(self, spools: Sequence[Path], file: BinaryIO) -> None:
        fold = _CellReader(self.spec.header(version=VERSION, wall=""), self.number)
        for spool in spools:
            if not spool.exists():
                continue
            # First everything is in the result, then it is folded: the raw records come first.
            with spool.open("rb") as blocks:
                shutil.copyfileobj(blocks, file)
                file.flush()
                blocks.seek(0)
                for block in read_bare_blocks(blocks):
                    assert isinstance(block, RequestRecord)
                    fold.add(block)
        end: dict[str, Json] = {
            "type": "cell_end",
            "cell": self.number,
            "facts": [facts for facts in self.facts if facts],
            "samples": [[at_ns, dict(values)] for at_ns, values in self.samples],
        }
        file.write(encode_json(end))
        file.flush()
        self.result = fold.result(end)
        self.tools.view.end(self.result.summary)


class _CellReader:
    """Folds the blocks of one cell."""

    def __init__(self, header: JsonObject, number: int) -> None:
        cell: Any = _item(header.get("cells"), number)
        self._open_loop = cell.get("kind") in OPEN_KINDS
        slo: Any = header.get("slo_ms") or {}
        self._fold = CellFold(
            load=str(cell.get("name")),
            asked_in_flight=cell.get("concurrency"),
            slo_ms=slo,
            open_loop=self._open_loop,
        )
        self._instrument = InstrumentFold()

    def add(self, record: RequestRecord) -> None:
        """One more request."""
        self._fold.add(record)
        self._instrument.add(record)

    def result(self, end: Mapping[str, Any]) -> CellResult:
        """The cell, given its last block."""
        summary = self._fold.summary()
        return CellResult(
            summary,
            self._instrument.report(end.get("facts", []), open_loop=self._open_loop),
            engine_window(end.get("samples", []), summary, self._fold.tokens_between),
            tuple(self._fold.timeline()),
        )


class _Reader:
    """Folds a whole file."""

    def __init__(self) -> None:
        self._header: JsonObject = {}
        self._cells: dict[int, _CellReader] = {}
        self._ends: dict[int, Mapping[str, Any]] = {}
        self._notes: list[str] = []

    def read(self, file: BinaryIO) -> BenchResult:
        for block in read_blocks(file):
            if isinstance(block, RequestRecord):
                self._cell(block.cell).add(block)
            else:
                self._json(block)
        return BenchResult(
            self._header,
            tuple(
                self._cell(number).result(self._ends.get(number, {}))
                for number in sorted({*self._cells, *self._ends})
            ),
            tuple(self._notes),
        )

    def _cell(self, number: int) -> _CellReader:
        if number not in self._cells:
            self._cells[number] = _CellReader(self._header, number)
        return self._cells[number]

    def _json(self, block: Mapping[str, Any]) -> None:
        match block["type"]:
            case "header":
                self._header = block
            case "cell_end":
                self._ends[block["cell"]] = block
            case "note":
                self._notes.append(block["text"])


def _item(values: Json, number: int) -> Json:
    if isinstance(values, Sequence) and not isinstance(values, str) and number < len(values):
        return values[number]
    return {}
