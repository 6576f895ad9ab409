"""The load worker: a process of its own that plays one cell and writes a spool of blocks.

`python -m exonerate.adapters.load_worker` reads one JSON job on stdin, writes request blocks
into the job's spool file while it runs, a line of JSON about its progress on stdout a few times
a second, and a last line of facts about itself. SIGTERM ends it early with everything measured so
far on disk. It imports neither numpy nor scipy, so that it starts fast and stays small.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from exonerate.adapters.address import Address, parse_address
from exonerate.adapters.link import Link
from exonerate.adapters.load_loop import LoadLoop
from exonerate.adapters.load_request import RequestMaker
from exonerate.adapters.load_slot import Target
from exonerate.adapters.tls import tls_context
from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.scene import PromptRecipe, RequestRecipe
from exonerate.core.wire.dialects import dialect_of_path
from exonerate.core.workload.plan import ClosedPlan, OpenPlan, Plan, SessionPlan
from exonerate.core.workload.result_blocks import WARM_UP, RequestRecord, encode_request

PROGRESS_NS = 250 * NS_PER_MS
SPOOL_BUFFER_BYTES = 256 * 1024


NICENESS = -20
"""Asked for, where the system allows it: a reader that wakes late cannot tell events apart."""

REAL_TIME_PRIORITY = 1
"""Asked for too: on cores that others use, niceness alone let one read in a hundred be 13 ms late
and this one 1.2 ms. The kernel keeps a share of each core for all others (sched(7))."""


def main() -> None:
    """Play the job on stdin."""
    gc.disable()
    _hurry()
    line = sys.stdin.buffer.readline()
    if not line:
        # Whoever started us is gone.
        return
    job = orjson.loads(line)
    with Path(job["spool"]).open("wb", buffering=SPOOL_BUFFER_BYTES) as spool:
        _Worker(job, spool).run()


def _hurry() -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REAL_TIME_PRIORITY))


class _Worker:
    """One job."""

    def __init__(self, job: Mapping[str, Any], spool: BinaryIO) -> None:
        self._job = job
        self._spool = spool
        self._cell: int = job.get("cell_number", 0)
        self._number: int = job.get("worker", 0)
        self._warm_up: int = job.get("warmup_requests", 0)
        self._index_step: int = job.get("index_step", 1)
        self._progress_ns = 0
        recipe = _recipe(job["request"])
        address = parse_address(job["url"])
        bodies = [body.encode() for body in job.get("bodies", ())]
        self._maker = RequestMaker(address, recipe, cell=job["cell"], bodies=bodies)
        self._target = _target(address, recipe.path, Link(ca=job.get("ca")))
        self._loop = LoadLoop(
            self._target,
            _plan(job["plan"]),
            self._maker,
            self._write,
            deadline_s=job["deadline_s"],
            time_limit_s=job["time_limit_s"],
            batch_s=job.get("batch_s", 0.0),
        )

    def run(self) -> None:
        """Play it, and say at the end what it cost."""
        signal.signal(signal.SIGTERM, lambda *_: self._loop.stop())
        signal.signal(signal.SIGINT, lambda *_: self._loop.stop())
        before = _cpu_s()
        begun_ns = time.monotonic_ns()
        self._loop.run(self._report_progress)
        ended_ns = time.monotonic_ns()
        self._spool.flush()
        facts = self._loop.facts
        self._say(
            {
                "type": "facts",
                "worker": self._number,
                "begun_ns": begun_ns,
                "ended_ns": ended_ns,
                "cpu_s": _cpu_s() - before,
                "cpu_total_s": _cpu_s(),
                "resident_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                "niceness": os.getpriority(os.PRIO_PROCESS, 0),
                "real_time": os.sched_getscheduler(0) == os.SCHED_RR,
                "clock_steps": self._loop.clock_steps,
                "connections": facts.connections,
                "resent": facts.resent,
                "sent": facts.sent,
                "sending_lag_ns": facts.sending_lag_ns,
                "in_flight_peak": facts.in_flight_peak,
                "events": facts.events,
                "failed": facts.failed,
                "notes": [*facts.notes, *self._target.notes],
                "policy": self._maker.policy(),
            }
        )

    def _write(self, record: RequestRecord) -> None:
        record.cell = self._cell
        record.worker = self._number
        if record.index < self._warm_up:
            record.flags |= WARM_UP
        record.index = record.index * self._index_step + self._number
        self._spool.write(encode_request(record))

    def _report_progress(self) -> None:
        now_ns = time.monotonic_ns()
        if now_ns - self._progress_ns < PROGRESS_NS:
            return
        self._progress_ns = now_ns
        facts = self._loop.facts
        self._say(
            {
                "type": "progress",
                "worker": self._number,
                "ended": facts.ended,
                "failed": facts.failed,
                "events": facts.events,
                "in_flight": facts.in_flight,
            }
        )

    def _say(self, value: Mapping[str, Any]) -> None:
        try:
            os.write(sys.stdout.fileno(), orjson.dumps(value) + b"\n")
        except BrokenPipeError:
            # Whoever started us is gone; nobody waits for the rest.
            self._loop.stop()


def _recipe(value: Mapping[str, Any]) -> RequestRecipe:
    fields = dict(value)
    fields["prompt"] = PromptRecipe(**fields["prompt"])
    fields["headers"] = tuple((name, text) for name, text in fields.get("headers", ()))
    return RequestRecipe(**fields)


def _plan(value: Mapping[str, Any]) -> Plan:
    match value["kind"]:
        case "closed":
            duration_s = value.get("duration_s")
            until_ns = time.monotonic_ns() + int(duration_s * NS_PER_S) if duration_s else None
            return ClosedPlan(
                concurrency=value["concurrency"], requests=value["requests"], until_ns=until_ns
            )
        case "open":
            return OpenPlan(value["offsets_ns"], time.monotonic_ns())
        case "sessions":
            return SessionPlan(
                concurrency=value["concurrency"],
                sessions=value["sessions"],
                rounds=value["rounds"],
                think_ns=int(value["think_s"] * NS_PER_S),
            )
        case kind:
            raise AssertionError(f"unknown plan {kind}")


def _target(address: Address, path: str, link: Link) -> Target:
    found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    family, _, _, _, place = found[0]
    context = tls_context(link) if address.secure else None
    return Target(int(family), place, address.host, context, dialect_of_path(path))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
