"""One cell of one restart: what its rows say. All reduction of raw requests happens here.

The `cell` event of a `LoadCell` is

    {"concurrency", "begun_ns", "ended_ns",
     "rows": [[begun_ns, first_token_ns | null, ended_ns, output_tokens, "ok" | end code], ...],
     "instrument": {"cpu_s", "lag_ms_p99", "cpu_share"}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exonerate.core.instant import NS_PER_S, seconds_between
from exonerate.core.json_types import JsonObject
from exonerate.core.stats.steady import Steadiness, steadiness, window_length_s, window_rates

OK = "ok"
WAVES_FOR_LITTLE_MIN = 2
"""With fewer requests than twice the concurrency the loop is never seen full for long."""


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
    return CellRun(
        concurrency=int(event["concurrency"]),
        duration_s=duration_s,
        tokens_per_s=tokens / duration_s,
        requests=len(rows),
        tokens_per_request=tokens / len(good) if good else 0.0,
        ends=Counter(str(row[4]) for row in rows if row[4] != OK),
        latency_s_mean=mean_s,
        in_flight=in_flight(rows, begun, int(event["concurrency"])),
        cpu_share=float(instrument["cpu_share"]),
        lag_ms_p99=float(instrument["lag_ms_p99"]),
        steadiness=_steadiness(good, begun, duration_s, mean_s),
    )


def in_flight(rows: Any, begun_ns: int, concurrency: int) -> float | None:
    """Mean requests in flight from the start of the cell to the start of its last request.

    Little's law as a check of the loop: sum of the time in flight over the length of that span.
    """
    if len(rows) < WAVES_FOR_LITTLE_MIN * concurrency:
        return None
    last = max(row[0] for row in rows)
    if last <= begun_ns:
        return None
    busy = sum(max(0, min(row[2], last) - max(row[0], begun_ns)) for row in rows)
    return float(busy) / (last - begun_ns)


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
