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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import orjson

from exonerate.adapters.request import authorization
from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import Clock
from exonerate.core.scene import LoadCell, RequestRecipe
from exonerate.core.workload.result_blocks import (
    MAGIC,
    WARM_UP,
    RequestRecord,
    decode_blocks,
)

LINE_BYTES_MAX = 1024 * 1024
GRACE_S = 10.0
"""A worker that outlives its own time limit by this much is stopped."""


@dataclass(frozen=True, slots=True)
class WorkerRun:
    """What one worker left: its facts and its spool of request blocks."""

    facts: Mapping[str, Any]
    spool: Path


async def play_cell(
    cell: LoadCell, *, clock: Clock, body: bytes | None = None, batch_s: float = 0.0
) -> JsonObject:
    """Play one closed-loop cell; the contract of its one ``cell`` event."""
    authorization(cell.request)
    with tempfile.TemporaryDirectory(prefix="exonerate-") as folder:
        job = {
            "cell": cell.name,
            "url": cell.url,
            "request": request_json(cell.request),
            "body": body.decode() if body else None,
            "plan": {
                "kind": "closed",
                "concurrency": cell.concurrency,
                "requests": cell.requests + cell.warmup_requests,
            },
            "warmup_requests": cell.warmup_requests,
            "deadline_s": cell.deadline_s,
            "time_limit_s": cell.time_limit_s,
            "batch_s": batch_s,
        }
        begun_ns = clock.now()
        run = await run_worker(job, Path(folder) / "spool")
        records = read_spool(run.spool)
        return cell_event(cell.concurrency, [run.facts], records, begun_ns=begun_ns)


async def run_worker(
    job: Mapping[str, Any], spool: Path, progress: Callable[[JsonObject], None] = lambda _: None
) -> WorkerRun:
    """Run one worker to its end; cancelling it stops the worker and keeps its spool."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "exonerate.adapters.load_worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_BYTES_MAX,
        env=_environment(),
    )
    facts: dict[str, Any] = {}
    try:
        async with asyncio.timeout(job["time_limit_s"] + job["deadline_s"] + GRACE_S):
            await _talk(process, {**job, "spool": str(spool)}, facts, progress)
    finally:
        await asyncio.shield(_stop(process))
    return WorkerRun(facts, spool)


def read_spool(spool: Path) -> list[RequestRecord]:
    """The requests of a spool, in the order in which they ended."""
    blocks = decode_blocks(MAGIC + spool.read_bytes())
    return [block for block in blocks if isinstance(block, RequestRecord)]


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
        "instrument": instrument(concurrency, facts, measured),
        "policy": facts[0].get("policy", {}) if facts else {},
    }


CPU_SHARE_MAX = 0.85
SENDING_LAG_SHARE_MAX = 0.03


def instrument(
    concurrency: int | None, facts: Sequence[Mapping[str, Any]], records: Sequence[RequestRecord]
) -> dict[str, Json]:
    """What the client saw of itself, and whether it was what limited the result."""
    lateness = sorted(late for record in records for late in record.lateness_us)
    spans_s = [(one["ended_ns"] - one["begun_ns"]) / NS_PER_S for one in facts]
    shares = [one["cpu_s"] / max(span, 1e-9) for one, span in zip(facts, spans_s, strict=True)]
    events = sum(record.events for record in records)
    censored = sum(record.censored for record in records)
    busy_ns = sum(record.ended_ns - record.begun_ns for record in records)
    lag_ns = sum(one["sending_lag_ns"] for one in facts)
    lag_share = lag_ns / busy_ns if busy_ns else 0.0
    why: list[str] = []
    if shares and max(shares) > CPU_SHARE_MAX:
        why.append(f"a load worker used {max(shares):.0%} of its core")
    if concurrency is not None and lag_share > SENDING_LAG_SHARE_MAX:
        why.append(f"requests went out late: {lag_share:.1%} of the time they took")
    notes = [note for one in facts for note in one.get("notes", ())]
    return {
        "cpu_s": sum(one["cpu_s"] for one in facts),
        "cpu_share": max(shares, default=0.0),
        "workers": len(facts),
        "lag_ms_p50": _at(lateness, 0.5) / 1000,
        "lag_ms_p99": _at(lateness, 0.99) / 1000,
        "lag_ms_max": max((record.lateness_ns_max for record in records), default=0) / NS_PER_MS,
        "sending_lag_share": lag_share,
        "censored_share": censored / events if events else 0.0,
        "kernel_stamps": all(record.flags & 8 for record in records if record.reads),
        "connections": sum(one["connections"] for one in facts),
        "resent": sum(one["resent"] for one in facts),
        "in_flight_peak": sum(one["in_flight_peak"] for one in facts),
        "client_bound": bool(why),
        "why": "; ".join(why),
        "notes": cast("Json", sorted(set(notes))),
    }


def _at(ordered: Sequence[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


async def _talk(
    process: asyncio.subprocess.Process,
    job: Mapping[str, Any],
    facts: dict[str, Any],
    progress: Callable[[JsonObject], None],
) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(orjson.dumps(job) + b"\n")
    await process.stdin.drain()
    process.stdin.close()
    while line := await process.stdout.readline():
        said = orjson.loads(line)
        if said["type"] == "facts":
            facts.update(said)
        else:
            progress(said)
    status = await process.wait()
    assert status == 0, f"a load worker ended with status {status}"


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(GRACE_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _environment() -> dict[str, str]:
    """Ours, with the folder of this package first, so that the worker runs the same code."""
    package = str(Path(__file__).parents[2])
    rest = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{rest}" if rest else package}
