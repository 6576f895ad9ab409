"""One cell of one restart: what its rows say. All reduction of raw requests happens here.

The `cell` event of a `LoadCell` is

    {"concurrency", "begun_ns", "ended_ns",
     "rows": [[begun_ns, first_token_ns | null, ended_ns, output_tokens, "ok" | end, ...], ...],
     "instrument": {"cpu_s", "lag_ms_p99", "cpu_share", "client_bound", "why", ...}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exonerate.core.instant import NS_PER_S, seconds_between
from exonerate.core.json_types import JsonObject
from exonerate.core.stats.steady import Steadiness, steadiness, window_length_s, window_rates
from exonerate.core.stats.wording import share

OK = "ok"
WAVES_FOR_LITTLE_MIN = 2
"""With fewer requests than twice the concurrency the loop is never seen full for long."""
CPU_SHARE_MAX = 0.85
"""For an instrument that does not judge itself: above this its one core was the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun:
    """One cell of one restart, reduced.

    `in_flight` is the mean number of requests in flight while the closed loop was full (None when
    too short to tell); `ends` counts how the failed requests ended.
    """

    concurrency: int
    duration_s: float
    tokens_per_s: float
    requests: int
    tokens_per_request: float
    ends: Mapping[str, int]
    latency_s_mean: float
    in_flight: float | None
    cpu_share: float
    lag_ms_p99: float
    client_bound: bool
    client_why: str
    steadiness: Steadiness | None

    @property
    def failed(self) -> int:
        """Requests that did not end well."""
        return sum(self.ends.values())


def cell_run(data: JsonObject) -> CellRun:
    """Reduce the data of a `cell` event.

    tokens_per_s is output tokens of the requests that ended well over the whole window, the run-in
    and run-out of the closed loop included: they are the same for both arms.
    """
    event: Any = data
    begun, ended = int(event["begun_ns"]), int(event["ended_ns"])
    rows = event["rows"]
    good = [row for row in rows if row[4] == OK]
    duration_s = max(seconds_between(begun, ended), 1 / NS_PER_S)
    tokens = sum(row[3] for row in good)
    latencies = [seconds_between(row[0], row[2]) for row in good]
    mean_s = sum(latencies) / len(latencies) if latencies else 0.0
    instrument = event["instrument"]
    cpu_share = float(instrument["cpu_share"])
    return CellRun(
        concurrency=int(event["concurrency"]),
        duration_s=duration_s,
        tokens_per_s=tokens / duration_s,
        requests=len(rows),
        tokens_per_request=tokens / len(good) if good else 0.0,
        ends=Counter(str(row[4]) for row in rows if row[4] != OK),
        latency_s_mean=mean_s,
        in_flight=in_flight(rows, int(event["concurrency"])),
        cpu_share=cpu_share,
        lag_ms_p99=float(instrument["lag_ms_p99"]),
        client_bound=bool(instrument.get("client_bound", cpu_share > CPU_SHARE_MAX)),
        client_why=str(instrument.get("why") or f"it used {share(cpu_share)} of its core"),
        steadiness=_steadiness(good, begun, duration_s, mean_s),
    )


def in_flight(rows: Any, concurrency: int) -> float | None:
    """Mean requests in flight while the closed loop was full; None when it was not for long.

    Little's law as a check of the loop: the time in flight, summed over requests, over the length
    of the span from the start of the C-th request to the start of the last.
    """
    if len(rows) < WAVES_FOR_LITTLE_MIN * concurrency:
        return None
    starts = sorted(row[0] for row in rows)
    full, last = starts[concurrency - 1], starts[-1]
    if last <= full:
        return None
    busy = sum(max(0, min(row[2], last) - max(row[0], full)) for row in rows)
    return float(busy / (last - full))


def _steadiness(good: Any, begun_ns: int, duration_s: float, mean_s: float) -> Steadiness | None:
    spans = [
        (
            seconds_between(begun_ns, row[1] if row[1] is not None else row[0]),
            seconds_between(begun_ns, row[2]),
            float(row[3]),
        )
        for row in good
    ]
    rates = window_rates(spans, duration_s=duration_s, window_s=window_length_s(mean_s))
    return steadiness(rates)
