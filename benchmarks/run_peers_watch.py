"""Watches a client from outside: CPU time and memory of its whole process tree, read from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from scripted_engine import page
from thread_beside import thread_beside

EVERY_S = 0.1
MEMORY_EVERY = 10
ACTIVE = (0.05, 0.95)
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _UTIME, _STIME = 1, 11, 12
"""Fields of /proc/PID/stat behind the name (proc_pid_stat(5)), counted from the state."""


@dataclass(slots=True)
class Watch:
    """Samples a process tree beside the engine's counters, in a thread, until the block ends."""

    pid: int
    url: str
    cpu_s: dict[int, float] = field(default_factory=dict)
    samples: list[tuple[int, float]] = field(default_factory=list)
    """(events that the engine has sent, CPU seconds of the tree) from time to time."""
    memory_kib: int = 0
    processes: int = 0

    def running(self) -> AbstractContextManager[None]:
        """While this runs, samples come in."""
        return thread_beside(self._sample)

    def _sample(self, over: threading.Event) -> None:
        turn = 0
        while not over.wait(EVERY_S):
            tree = list(_tree(self.pid))
            self.processes = max(self.processes, len(tree))
            self.cpu_s.update(tree)
            if turn % MEMORY_EVERY == 0:
                resident = sum(_proportional_kib(pid) for pid, _ in tree)
                self.memory_kib = max(self.memory_kib, resident)
            if turn % 2 == 0:
                self.samples.append((page(self.url, "stats")["events"], sum(self.cpu_s.values())))
            turn += 1

    def cpu_us_per_event(self) -> float | None:
        """CPU time for each event while the load runs; start, end and the ramps left out."""
        total = self.samples[-1][0] - self.samples[0][0] if self.samples else 0
        first = self.samples[0][0] if self.samples else 0
        active = [
            sample
            for sample in self.samples
            if ACTIVE[0] * total < sample[0] - first < ACTIVE[1] * total
        ]
        if len(active) < 2:
            return None
        events, spent_s = (active[-1][at] - active[0][at] for at in (0, 1))
        return 1e6 * spent_s / events


def _tree(root: int) -> Iterator[tuple[int, float]]:
    """The process and all below it, each with the CPU seconds that it used."""
    rows = {
        int(entry.name): stat for entry in Path("/proc").glob("[0-9]*") if (stat := _stat(entry))
    }
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        if pid in rows:
            fields = rows[pid]
            yield pid, (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS
            waiting += [child for child, row in rows.items() if int(row[_PARENT]) == pid]


def _stat(folder: Path) -> Sequence[str]:
    try:
        text = (folder / "stat").read_text(errors="replace")
    except OSError:
        return ()
    return text.rpartition(")")[2].split()


def _proportional_kib(pid: int) -> int:
    """Memory with shared pages counted once (Pss of proc_pid_smaps(5))."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
