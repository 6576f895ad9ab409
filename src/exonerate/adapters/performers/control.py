"""Performs the control: what an exchange and a bit of work take on this host, with nobody to blame.

The echo server answers at once, over a real socket, in this process. The work hashes the same bytes
outside of the event loop: a host that has a processor to give does it in about its processor time.
Steal (time that the hypervisor gave to others) and the load are read from /proc (proc_stat(5)), and
so is what the programs under suspicion got: /proc/PID/task/TID/schedstat has the nanoseconds that a
thread ran and that it stood ready and waited (Linux, Documentation/scheduler/sched-stats.rst).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from exonerate.adapters.player import Stage
from exonerate.adapters.process_sockets import processes_listening_on
from exonerate.adapters.process_table import descendants
from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, Control

_STAT = Path("/proc/stat")
WORK_BYTES = bytes(4 * 1024 * 1024)
WORK_CPU_NS = 15 * NS_PER_MS
"""The work goes on until it had so much processor time: longer than a scheduler's time slice."""
WORK_PIECES_MAX = 64
ECHO_LIMIT_S = 10.0
_STEAL_FIELD = 7


async def play_control(activity: Activity, stage: Stage) -> None:
    """One ``control`` event for each try."""
    assert isinstance(activity, Control)
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        before = _processor_times()
        families = await asyncio.to_thread(_families, activity.ports)
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(activity.every_s)
            echo_ms = await _exchange_ms(port, stage)
            work_ms, cpu_ms = await asyncio.to_thread(_work)
            now = _processor_times()
            seen: JsonObject = {
                "echo_ms": round(echo_ms, 3),
                "work_ms": round(work_ms, 3),
                "work_cpu_ms": round(cpu_ms, 3),
                "load": round(os.getloadavg()[0], 2),
                "processors": os.cpu_count() or 1,
                "steal": _steal(before, now),
                "served": {str(port): _served(pids) for port, pids in families.items()},
            }
            before = now
            stage.emit(activity.name, "control", seen)


def _families(ports: Iterable[int]) -> dict[int, set[int]]:
    """The processes behind each port, with everything they started."""
    found: dict[int, set[int]] = {}
    for port in ports:
        pids = {one for pid in processes_listening_on(port) for one in descendants(pid)}
        if pids:
            found[port] = pids
    return found


def _served(pids: Iterable[int]) -> JsonObject:
    """Seconds that these processes' living threads have run, and waited for a processor."""
    run_ns = wait_ns = 0
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                ran, waited, _ = path.read_text().split()
                run_ns, wait_ns = run_ns + int(ran), wait_ns + int(waited)
    return {"run_s": round(run_ns / NS_PER_S, 3), "wait_s": round(wait_ns / NS_PER_S, 3)}


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.write(await reader.readline())
        await writer.drain()
    writer.close()


async def _exchange_ms(port: int, stage: Stage) -> float:
    begun_ns = stage.clock.now()
    try:
        async with asyncio.timeout(ECHO_LIMIT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"known good\n")
            await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        # Too slow to be measured, or no port left: as slow as can be.
        return ECHO_LIMIT_S * 1000
    return (stage.clock.now() - begun_ns) / NS_PER_MS


def _work() -> tuple[float, float]:
    """Milliseconds that the work took, and those of them on a processor."""
    begun_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
    for _ in range(WORK_PIECES_MAX):
        hashlib.sha256(WORK_BYTES[: len(WORK_BYTES) // 4]).digest()
        if time.thread_time_ns() - cpu_ns >= WORK_CPU_NS:
            break
    lasted_ns = time.monotonic_ns() - begun_ns
    return lasted_ns / NS_PER_MS, (time.thread_time_ns() - cpu_ns) / NS_PER_MS


def _processor_times() -> list[int]:
    """The first line of /proc/stat; empty where it cannot be read."""
    try:
        first = _STAT.read_text().split("\n", 1)[0]
    except OSError:
        return []
    return [int(field) for field in first.split()[1:]]


def _steal(before: list[int], now: list[int]) -> float | None:
    """The share of all processor time that the hypervisor took since the last look."""
    if len(now) <= _STEAL_FIELD or len(before) != len(now):
        return None
    # Guest time, behind steal, is counted within user time already.
    total = sum(now[: _STEAL_FIELD + 1]) - sum(before[: _STEAL_FIELD + 1])
    return round((now[_STEAL_FIELD] - before[_STEAL_FIELD]) / total, 4) if total > 0 else None
