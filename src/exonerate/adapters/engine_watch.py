"""Looks at an engine while it is under load: its counters, and the CPU time of its process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from exonerate.adapters.address import parse_address
from exonerate.adapters.http_get import get_page
from exonerate.adapters.process_table import listening_pids, living
from exonerate.core.ports import CounterReader

PAGE_TIMEOUT_S = 2.0
_LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_UTIME, _STIME = 11, 12
"""Fields of /proc/PID/stat behind the name (proc_pid_stat(5)), counted from the state."""


class EngineWatch:
    """Samples one engine."""

    def __init__(
        self,
        url: str,
        metrics_url: str | None,
        counters: CounterReader,
        *,
        ca: str | None = None,
    ) -> None:
        self._metrics_url = metrics_url
        self._cas = {parse_address(metrics_url).authority: ca} if metrics_url and ca else {}
        self._counters = counters
        self._pids = _process_and_children(url)

    async def sample(self) -> dict[str, float]:
        """Canonical counters, and `cpu_s` where the engine's process is on this host."""
        values: dict[str, float] = {}
        if self._metrics_url is not None:
            page = await get_page(self._metrics_url, timeout_s=PAGE_TIMEOUT_S, cas=self._cas)
            if page.status == 200:
                values.update(self._canonical(page.text))
        cpu_s = _cpu_s(self._pids)
        if cpu_s is not None:
            values["cpu_s"] = cpu_s
        return values

    def _canonical(self, page: str) -> Mapping[str, float]:
        return self._counters(page)[1]


def _process_and_children(url: str) -> frozenset[int]:
    """The local process that listens on the URL's port, with everything below it."""
    parts = urlsplit(url)
    if parts.hostname not in _LOCAL_HOSTS or parts.port is None:
        return frozenset()
    found = set(listening_pids(parts.port))
    rows = living() if found else []
    grown = True
    while grown:
        more = {row.pid for row in rows if row.parent in found} - found
        grown = bool(more)
        found |= more
    return frozenset(found)


def _cpu_s(pids: frozenset[int]) -> float | None:
    ticks = [_ticks(pid) for pid in pids]
    known = [count for count in ticks if count is not None]
    return sum(known) / os.sysconf("SC_CLK_TCK") if known else None


def _ticks(pid: int) -> int | None:
    try:
        text = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[_UTIME]) + int(fields[_STIME])
