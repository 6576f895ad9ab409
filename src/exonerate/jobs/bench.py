"""The job `bench`: play loads one after the other, write the raw result, fold it into a summary.

The result file is written as the run goes (header, then for each cell its requests and its end),
so that Ctrl-C or a crash leaves everything that was measured. The summary is folded from the file
and from nothing else: `exonerate bench export` and `compare` read the same bytes later.
"""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Clock
from exonerate.core.version import VERSION
from exonerate.core.workload.bench_spec import BenchCell, BenchSpec, worker_plans
from exonerate.core.workload.result_blocks import (
    MAGIC,
    RequestRecord,
    encode_json,
    read_bare_blocks,
    whole_blocks_bytes,
)
from exonerate.core.workload.summary import CellSummary
from exonerate.jobs.bench_result import BenchResult, CellReader, CellResult

SAMPLE_EVERY_S = 1.0
TIME_LIMIT_S = 6 * 3600.0
TAKEN_BYTES_MAX = 4 * 1024 * 1024
"""At once, of a spool, unless a single block is larger."""

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
        """Run the workers, take their records into the result, say how it ended."""
        self.tools.view.begin(self.cell)
        fold = CellReader(self.spec.header(version=VERSION, wall=""), self.number)
        with tempfile.TemporaryDirectory(prefix="exonerate-") as folder:
            paths = [Path(folder) / f"{number}" for number, _ in enumerate(self._plans())]
            spools = [_Spool(path, file, fold) for path in paths]
            try:
                await self._run(spools)
            finally:
                for spool in spools:
                    spool.close()
                self._end(file, fold)

    async def _run(self, spools: Sequence[_Spool]) -> None:
        await self._sample()
        async with asyncio.TaskGroup() as group:
            sampling = group.create_task(self._keep_sampling())
            async with asyncio.TaskGroup() as load:
                for number, (plan, spool) in enumerate(zip(self._plans(), spools, strict=True)):
                    facts: dict[str, Any] = {}
                    self.facts.append(facts)
                    progress = partial(self._progress, spool)
                    job = self._job(number, plan)
                    load.create_task(self.tools.run_load(job, spool.path, progress, facts=facts))
            sampling.cancel()
        await self._sample()

    def _progress(self, spool: _Spool, said: JsonObject) -> None:
        self.tools.view.show(said)
        spool.take()

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
            values = await self.tools.engine.sample()
            self.samples.append((self.tools.clock.now(), values))

    def _end(self, file: BinaryIO, fold: CellReader) -> None:
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


class _Spool:
    """What one worker has written so far, taken into the result and folded as it comes.

    So the result file grows with the run, and little is left to do when it ends.
    """

    def __init__(self, path: Path, result: BinaryIO, fold: CellReader) -> None:
        self.path = path
        self._result = result
        self._fold = fold
        self._file: BinaryIO | None = None

    def take(self) -> None:
        """Take every whole block that is there; the result has it before it is folded."""
        if self._file is None and self.path.exists():
            self._file = self.path.open("rb")
        bytes_max = TAKEN_BYTES_MAX
        while self._file is not None:
            begin = self._file.tell()
            content = self._file.read(bytes_max)
            whole = whole_blocks_bytes(content)
            self._file.seek(begin + whole)
            if not whole:
                if len(content) < bytes_max:
                    return
                bytes_max *= 2
                continue
            self._result.write(memoryview(content)[:whole])
            self._result.flush()
            for block in read_bare_blocks(io.BytesIO(content)):
                assert isinstance(block, RequestRecord)
                self._fold.add(block)

    def close(self) -> None:
        """Take the rest."""
        self.take()
        if self._file is not None:
            self._file.close()
