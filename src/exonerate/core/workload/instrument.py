"""What the load generator says of itself, and when it was what limited the result.

A result is client-bound when a worker used nearly all of its core, or when requests of a closed
loop went out late: then a faster service would have measured the same. How late *reads* were does
not bind a result, because their stamps are the kernel's; it is shown beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.json_types import Json
from exonerate.core.workload.result_blocks import KERNEL_STAMPS, WARM_UP, RequestRecord

CPU_SHARE_MAX = 0.85
SENDING_LAG_SHARE_MAX = 0.03
SENDING_LAG_MS_MAX = 5.0
"""In an open loop: the mean lateness of a request from which its rate was not the asked one."""

JUDGED_S_MIN = 0.5
"""A shorter run is not judged: starting up is most of it."""


@dataclass(slots=True)
class InstrumentFold:
    """Takes the records of one cell; keeps counts."""

    _lateness_us: Counter[int] = field(default_factory=Counter)
    _lateness_ns_max: int = 0
    _busy_ns: int = 0
    _events: int = 0
    _censored: int = 0
    _unstamped: int = 0

    def add(self, record: RequestRecord) -> None:
        """One more request."""
        if record.flags & WARM_UP:
            return
        self._lateness_us.update(record.lateness_us)
        self._lateness_ns_max = max(self._lateness_ns_max, record.lateness_ns_max)
        self._busy_ns += record.ended_ns - record.begun_ns
        self._events += record.events
        self._censored += record.censored
        self._unstamped += bool(record.reads and not record.flags & KERNEL_STAMPS)

    def report(self, facts: Sequence[Mapping[str, Any]], *, open_loop: bool) -> dict[str, Json]:
        """What the client saw of itself; `facts` are the workers' own last words."""
        spans_s = [(one["ended_ns"] - one["begun_ns"]) / NS_PER_S for one in facts]
        shares = [one["cpu_s"] / max(span, 1e-9) for one, span in zip(facts, spans_s, strict=True)]
        lag_ns = sum(one["sending_lag_ns"] for one in facts)
        sent = sum(one["sent"] for one in facts)
        lag_share = lag_ns / self._busy_ns if self._busy_ns else 0.0
        lag_ms = lag_ns / sent / NS_PER_MS if sent else 0.0
        why: list[str] = []
        if max(spans_s, default=0.0) >= JUDGED_S_MIN:
            if max(shares) > CPU_SHARE_MAX:
                why.append(f"a load worker used {max(shares):.0%} of its core")
            if not open_loop and lag_share > SENDING_LAG_SHARE_MAX:
                why.append(f"requests went out late by {lag_share:.1%} of the time they took")
            if open_loop and lag_ms > SENDING_LAG_MS_MAX:
                why.append(f"requests went out {lag_ms:.1f} ms late on average")
        notes = sorted({note for one in facts for note in one.get("notes", ())})
        return {
            "client_bound": bool(why),
            "why": "; ".join(why),
            "cpu_s": sum(one["cpu_s"] for one in facts),
            "cpu_share": max(shares, default=0.0),
            "cpu_us_per_event": self._cpu_us_per_event(facts),
            "workers": len(facts),
            "resident_mib": sum(one["resident_kib"] for one in facts) / 1024,
            "lag_ms_p50": self._lateness_ms(0.5),
            "lag_ms_p99": self._lateness_ms(0.99),
            "lag_ms_max": self._lateness_ms_max(),
            "sending_lag_share": lag_share,
            "sending_lag_ms": lag_ms,
            "censored_share": self._censored / self._events if self._events else 0.0,
            "kernel_stamps": self._unstamped == 0,
            "niceness": min((one.get("niceness", 0) for one in facts), default=0),
            "real_time": bool(facts) and all(one.get("real_time") for one in facts),
            "clock_steps": sum(one.get("clock_steps", 0) for one in facts),
            "connections": sum(one["connections"] for one in facts),
            "resent": sum(one["resent"] for one in facts),
            "in_flight_peak": sum(one["in_flight_peak"] for one in facts),
            "notes": cast("Json", notes),
        }

    def _cpu_us_per_event(self, facts: Sequence[Mapping[str, Any]]) -> float | None:
        events = sum(one["events"] for one in facts)
        return 1e6 * sum(one["cpu_s"] for one in facts) / events if events else None

    def _lateness_ms_max(self) -> float:
        return max(self._lateness_ns_max / NS_PER_MS, max(self._lateness_us, default=0) / 1000)

    def _lateness_ms(self, share: float) -> float:
        wanted = share * self._lateness_us.total()
        seen = 0
        for late_us in sorted(self._lateness_us):
            seen += self._lateness_us[late_us]
            if seen >= wanted:
                return late_us / 1000
        return 0.0
