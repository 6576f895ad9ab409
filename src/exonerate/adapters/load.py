"""Plays load cells in worker processes of their own and reads what they wrote.

The workers, not this process, carry the load: whatever else happens here (sampling an engine,
drawing a live view) does not disturb them. See `load_worker` and `load_loop`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from exonerate.adapters.request import authorization
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Clock
from exonerate.core.scene import LoadCell, RequestRecipe
from exonerate.core.workload.instrument import InstrumentFold
from exonerate.core.workload.result_blocks import (
    WARM_UP,
    RequestRecord,
    read_bare_blocks,
)
from exonerate.errors import ExonerateError

LINE_BYTES_MAX = 1024 * 1024
BATCH_S = 0.0005
"""Half a millisecond between two rounds of reads saves most wake-ups; stamps do not suffer."""

GRACE_S = 10.0
"""A worker that outlives its own time limit by this much is stopped."""


async def play_cell(
    cell: LoadCell,
    *,
    clock: Clock,
    body: bytes | None = None,
    batch_s: float = BATCH_S,
    ca: str | None = None,
) -> JsonObject:
    """Play one closed-loop cell; the contract of its one ``cell`` event.

    `ca` is a file of certificates that count instead of the system's.
    """
    authorization(cell.request)
    with tempfile.TemporaryDirectory(prefix="exonerate-") as folder:
        job = {
            "cell": cell.name,
            "url": cell.url,
            "request": request_json(cell.request),
            "bodies": [body.decode()] if body else [],
            "plan": {
                "kind": "closed",
                "concurrency": cell.concurrency,
                "requests": cell.requests + cell.warmup_requests,
            },
            "warmup_requests": cell.warmup_requests,
            "deadline_s": cell.deadline_s,
            "time_limit_s": cell.time_limit_s,
            "batch_s": batch_s,
            "ca": ca,
        }
        begun_ns = clock.now()
        spool = Path(folder) / "spool"
        facts = await run_worker(job, spool)
        return cell_event(cell.concurrency, [facts], read_spool(spool), begun_ns=begun_ns)


async def run_worker(
    job: Mapping[str, Any],
    spool: Path,
    progress: Callable[[JsonObject], None] = lambda _: None,
    *,
    facts: dict[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Run one worker to its end and return its facts.

    Cancelling it ends the worker early; its spool and, in `facts`, its last words are kept. A
    worker that is ended before it has begun has neither.

    Raises:
        ExonerateError: somebody else ended the worker before it had begun.
    """
    facts = {} if facts is None else facts
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "exonerate.adapters.load_worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        env=_environment(),
        # Ctrl-C at a terminal goes to a whole process group; the worker is asked to end by us.
        process_group=0,
    )
    try:
        async with asyncio.timeout(job["time_limit_s"] + job["deadline_s"] + GRACE_S):
            await _tell(process, {**job, "spool": str(spool)})
            await _listen(process, facts, progress)
        _check_end(process, facts)
    except asyncio.CancelledError:
        _ask_to_end(process)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await _listen(process, facts, progress)
        raise
    finally:
        await _stop(process)
    return facts


def read_spool(spool: Path) -> list[RequestRecord]:
    """The requests of a spool, in the order in which they ended."""
    with spool.open("rb") as file:
        return [block for block in read_bare_blocks(file) if isinstance(block, RequestRecord)]


def request_json(recipe: RequestRecipe) -> dict[str, Any]:
    """The recipe as a worker's job carries it."""
    return asdict(recipe)


def cell_event(
    concurrency: int,
    facts: Sequence[Mapping[str, Any]],
    records: Sequence[RequestRecord],
    *,
    begun_ns: int,
) -> JsonObject:
    """The ``cell`` event of the records that are no warm-up."""
    measured = [record for record in records if not record.flags & WARM_UP]
    fold = InstrumentFold()
    for record in measured:
        fold.add(record)
    first_ns = min((record.begun_ns for record in measured), default=begun_ns)
    last_ns = max((record.ended_ns for record in measured), default=begun_ns)
    rows: list[Json] = [
        [
            record.begun_ns,
            record.first_token_ns or None,
            record.ended_ns,
            record.output_tokens,
            "ok" if record.complete else record.end,
            record.events,
            None if record.usage_tokens < 0 else record.usage_tokens,
        ]
        for record in measured
    ]
    return {
        "concurrency": concurrency,
        "begun_ns": first_ns,
        "ended_ns": last_ns,
        "rows": rows,
        "instrument": fold.report(facts, open_loop=False),
        "policy": facts[0].get("policy", {}) if facts else {},
    }


async def _tell(process: asyncio.subprocess.Process, job: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(orjson.dumps(job) + b"\n")
    with suppress(ConnectionError):
        # One that has already gone says so by its end.
        await process.stdin.drain()
    process.stdin.close()


async def _listen(
    process: asyncio.subprocess.Process,
    facts: dict[str, Any],
    progress: Callable[[JsonObject], None],
) -> None:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        said = orjson.loads(line)
        if said["type"] == "facts":
            facts.update(said)
        else:
            progress(said)
    await process.wait()


def _check_end(process: asyncio.subprocess.Process, facts: Mapping[str, Any]) -> None:
    status = process.returncode
    if status == -signal.SIGTERM and not facts:
        raise ExonerateError(
            "a load worker was ended by SIGTERM before it had begun",
            "run it again; a service manager or a memory guard may have sent the signal",
        )
    assert status == 0, f"a load worker ended with status {status}"


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    _ask_to_end(process)
    try:
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


def _environment() -> dict[str, str]:
    """Ours, with the folder of this package first, so that the worker runs the same code."""
    package = str(Path(__file__).parents[2])
    rest = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{rest}" if rest else package}
