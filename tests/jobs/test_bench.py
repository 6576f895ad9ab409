"""The job `bench` against a worker that writes its spool bit by bit."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exonerate.adapters.clock import SystemClock
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.workload.bench_spec import BenchCell, BenchSpec
from exonerate.core.workload.result_blocks import COMPLETE, RequestRecord, encode_request
from exonerate.core.workload.summary import CellSummary
from exonerate.jobs.bench import BenchTools, run_bench
from exonerate.jobs.bench_result import read_result

FACTS = {
    "type": "facts", "begun_ns": 0, "ended_ns": 10**9, "cpu_s": 0.1, "resident_kib": 1,
    "connections": 1, "resent": 0, "sent": 4, "sending_lag_ns": 0, "in_flight_peak": 1,
    "events": 12,
}  # fmt: skip


class Silence:
    """A view that shows nothing."""

    def begin(self, cell: BenchCell) -> None:
        """A cell begins."""

    def show(self, worker: JsonObject) -> None:
        """A worker said how far it is."""

    def end(self, summary: CellSummary) -> None:
        """A cell has ended."""


def record(index: int) -> RequestRecord:
    """A complete request of three events."""
    begun = 10**9 * (index + 1)
    return RequestRecord(
        index=index,
        begun_ns=begun,
        intended_ns=begun,
        first_token_ns=begun + 10**6,
        ended_ns=begun + 3 * 10**6,
        status=200,
        flags=COMPLETE,
        events=3,
        reads=3,
        gaps_ns=array("I", [10**6] * 3),
        lateness_us=array("H", [1, 2, 3]),
    )


def test_the_result_grows_with_the_run_and_is_whole(tmp_path: Path) -> None:
    """Requests are in the result while the run goes on, none is torn, none is lost or doubled."""
    out = tmp_path / "run.exbench"
    sizes: list[int] = []

    async def run_load(
        job: Mapping[str, Any],
        spool: Path,
        progress: Callable[[JsonObject], None],
        *,
        facts: dict[str, Any],
    ) -> Mapping[str, Any]:
        content = b"".join(encode_request(record(index)) for index in range(4))
        with spool.open("wb", buffering=0) as file:
            for begin in range(0, len(content), 100):
                file.write(content[begin : begin + 100])
                progress({"type": "progress"})
                sizes.append(out.stat().st_size)
        facts.update(FACTS)
        return facts

    recipe = RequestRecipe(
        path="/v1/chat/completions",
        model="m",
        prompt=PromptRecipe(seed=1, prompt_tokens=8),
        max_tokens=3,
    )
    cell = BenchCell(kind="closed", concurrency=1, requests=4)
    spec = BenchSpec(
        url="http://127.0.0.1:9", request=recipe, cells=(cell,), deadline_s=9.0, seed=1
    )
    tools = BenchTools(SystemClock(), run_load, None, Silence())
    result = asyncio.run(run_bench(spec, tools, out))
    assert len(set(sizes)) > 3, "it grew in steps of a request"
    assert result.cells[0].summary.complete == 4
    assert result.cells[0].summary.counted_events == 12
    assert read_result(out).cells[0].summary == result.cells[0].summary
