"""What /proc and the kernel show of a program and everything it started: sockets and threads.

Only looks: nothing is attached, stopped or asked. What may not be read is left out and named.
Layouts: proc_pid_fd(5), proc_pid_task(5), proc_pid_wchan(5), proc_pid_limits(5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exonerate.adapters.process_sockets import socket_inodes
from exonerate.adapters.process_table import descendants
from exonerate.adapters.sockets import SocketRow
from exonerate.core.json_types import JsonObject

_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat behind the name: user and system time (proc_pid_stat(5): 14 and 15).
_STATE, _UTIME, _STIME = 0, 11, 12
THREADS_MAX = 64
SOCKETS_MAX = 256


@dataclass(frozen=True, slots=True)
class FamilyView:
    """A program and its descendants at one moment."""

    pids: tuple[int, ...]
    cpu_s: float
    sockets: tuple[SocketRow, ...]
    threads: tuple[JsonObject, ...]


def look_at_family(pid: int, rows: Iterable[SocketRow]) -> FamilyView:
    """The program, its descendants and those of the given sockets that are theirs."""
    pids = tuple(sorted(descendants(pid)))
    inodes = socket_inodes(pids)
    threads = [thread for one in pids for thread in threads_of(one)]
    return FamilyView(
        pids=pids,
        cpu_s=sum(cpu_s(one) for one in pids),
        sockets=tuple(row for row in rows if row.inode in inodes and row.state != "LISTEN"),
        threads=tuple(threads[:THREADS_MAX]),
    )


def open_files(pid: int) -> tuple[int, int] | None:
    """How many descriptors a process holds and may hold; None where that may not be read."""
    try:
        held = len(os.listdir(_PROC / str(pid) / "fd"))  # noqa: PTH208  # counts only
        limits = (_PROC / str(pid) / "limits").read_text()
    except OSError:
        return None
    for line in limits.splitlines():
        if line.startswith("Max open files"):
            soft = line.split()[3]
            return held, int(soft) if soft.isdigit() else 0
    return None


def cpu_s(pid: int) -> float:
    """Processor time that a process has used; 0 where it has ended."""
    fields = _stat_fields(_PROC / str(pid) / "stat")
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS_PER_S if fields else 0.0


def threads_of(pid: int) -> list[JsonObject]:
    """Each thread's name, state and, where the kernel says so, what it waits in."""
    try:
        tasks = sorted((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return []
    return [thread for task in tasks[:THREADS_MAX] if (thread := _thread(pid, task)) is not None]


def kernel_stack(pid: int) -> tuple[str, ...]:
    """The main thread's stack in the kernel; empty where that may not be read."""
    try:
        lines = (_PROC / str(pid) / "stack").read_text().splitlines()
    except OSError:
        return ()
    return tuple(line.split("] ")[-1].split("+")[0] for line in lines)


def _thread(pid: int, task: Path) -> JsonObject | None:
    fields = _stat_fields(task / "stat")
    if not fields:
        return None
    return {
        "pid": pid,
        "name": _text(task / "comm"),
        "state": fields[_STATE],
        "waits_in": _text(task / "wchan") or None,
    }


def _stat_fields(path: Path) -> list[str]:
    return _text(path).rpartition(")")[2].split()


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
