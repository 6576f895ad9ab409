"""Folds the requests of one cell into the numbers that a report shows.

Rules
-----
1. Throughput is counted over the *window*: from the moment at which as many requests were in flight
   as asked to the moment at which the last one was sent, so that neither ramp counts, and from
   there on without the head that the steady-state rule (MSER: White, 1997) drops. Where that
   leaves less than a third of the run, the whole run counts and `window` says so.
2. Tokens are counted when they came, event by event, and scaled by the server's own count where it
   gave one; both counts are kept.
3. TTFT is the first event that carries text, reasoning or a tool call, counted from when the
   request was begun; in an open loop from when it *should* have been. ITL are the gaps between
   such events; events that shared a read are placed evenly inside the span in which they came.
   TPOT is (E2E - TTFT) / (tokens - 1).
4. Only complete requests enter the latencies; every other one is counted by its end code.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import sub

from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.json_types import Json
from exonerate.core.workload.order_statistics import (
    Quantile,
    histogram_quantiles,
    quantiles,
    wilson,
)
from exonerate.core.workload.result_blocks import RESENT, WARM_UP, RequestRecord

BUCKET_NS = 100 * NS_PER_MS
BUCKETS_PER_BATCH = 5
BATCHES_MIN = 16
WINDOW_SHARE_MIN = 1 / 3
LEVEL_MAX = 0.05
WANTED = (0.5, 0.9, 0.99)
METRICS = ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """What one cell showed."""

    load: str
    requests: int
    complete: int
    window_s: float
    window: str
    window_begin_ns: int
    steady: bool | None
    output_tokens_per_s: float | None
    requests_per_s: float | None
    prompt_tokens: int
    usage_tokens: int
    counted_events: int
    latencies: Mapping[str, tuple[Quantile, ...]]
    ends: Mapping[str, int]
    goodput: Mapping[str, Json] | None
    mean_in_flight: float
    asked_in_flight: int | None
    censored_events: int
    resent: int
    warm_up_tokens: int = 0

    def to_json(self) -> dict[str, Json]:
        """The cell as `exonerate.bench/1` shows it."""
        return {
            "load": self.load,
            "requests": self.requests,
            "complete": self.complete,
            "window_s": self.window_s,
            "window": self.window,
            "window_begin_ns": self.window_begin_ns,
            "steady": self.steady,
            "output_tokens_per_s": self.output_tokens_per_s,
            "requests_per_s": self.requests_per_s,
            "prompt_tokens": self.prompt_tokens,
            "usage_tokens": self.usage_tokens,
            "counted_events": self.counted_events,
            **{name: _quantiles_json(found) for name, found in self.latencies.items()},
            "ends": dict(self.ends),
            "goodput": None if self.goodput is None else dict(self.goodput),
            "mean_in_flight": self.mean_in_flight,
            "asked_in_flight": self.asked_in_flight,
            "censored_events": self.censored_events,
            "resent": self.resent,
        }


@dataclass(slots=True)
class CellFold:
    """Takes the records of one cell one by one; keeps a few numbers of each."""

    load: str
    asked_in_flight: int | None = None
    slo_ms: Mapping[str, float] = field(default_factory=dict)
    open_loop: bool = False
    _begun: array[int] = field(default_factory=lambda: array("q"))
    _ended: array[int] = field(default_factory=lambda: array("q"))
    _complete_ended: array[int] = field(default_factory=lambda: array("q"))
    _samples: dict[str, array[float]] = field(
        default_factory=lambda: {name: array("d") for name in METRICS if name != "itl_ms"}
    )
    _itl_us: Counter[int] = field(default_factory=Counter)
    _buckets: Counter[int] = field(default_factory=Counter)
    _ends: Counter[str] = field(default_factory=Counter)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(self, record: RequestRecord) -> None:
        """One more request."""
        if record.flags & WARM_UP:
            self._counts["warm-up"] += record.output_tokens
            return
        self._begun.append(record.begun_ns)
        self._ended.append(record.ended_ns)
        self._count_arrivals(record.arrivals_ns())
        self._ends["ok" if record.complete else record.end] += 1
        self._counts["events"] += record.events
        self._counts["usage"] += max(0, record.usage_tokens)
        self._counts["tokens"] += record.output_tokens
        self._counts["prompt"] += max(0, record.prompt_tokens)
        self._counts["censored"] += record.censored
        self._counts["resent"] += bool(record.flags & RESENT)
        if record.complete:
            self._complete_ended.append(record.ended_ns)
            self._latencies(record)

    def _count_arrivals(self, arrivals: Sequence[int]) -> None:
        """Count events in tenths of a second; they are in order, so few buckets need a look."""
        begin = 0
        while begin < len(arrivals):
            bucket = arrivals[begin] // BUCKET_NS
            end = bisect_left(arrivals, (bucket + 1) * BUCKET_NS, begin)
            self._buckets[bucket] += end - begin
            begin = end

    def summary(self) -> CellSummary:
        """The numbers so far."""
        begin_ns, end_ns, kind = self._window()
        batches = self._batches(begin_ns, end_ns)
        head = _head_cut(batches)
        begin_ns += (head or 0) * BUCKETS_PER_BATCH * BUCKET_NS
        window_s = max(0.0, (end_ns - begin_ns) / NS_PER_S)
        known = window_s > 0 and bool(self._complete_ended)
        ended = sum(begin_ns <= stamp < end_ns for stamp in self._complete_ended)
        return CellSummary(
            load=self.load,
            requests=len(self._begun),
            complete=self._ends["ok"],
            window_s=window_s,
            window=kind,
            window_begin_ns=begin_ns,
            steady=None if head is None else _is_level(batches[head:]),
            output_tokens_per_s=self.tokens_between(begin_ns, end_ns) / window_s if known else None,
            requests_per_s=ended / window_s if known else None,
            prompt_tokens=self._counts["prompt"],
            usage_tokens=self._counts["usage"],
            counted_events=self._counts["events"],
            latencies=self._quantiles(),
            ends=dict(sorted(self._ends.items())),
            goodput=self._goodput(window_s, ended),
            mean_in_flight=self._mean_in_flight(begin_ns, end_ns),
            asked_in_flight=self.asked_in_flight,
            censored_events=self._counts["censored"],
            resent=self._counts["resent"],
            warm_up_tokens=self._counts["warm-up"],
        )

    def timeline(self) -> list[tuple[float, int]]:
        """Tokens in each tenth of a second: (seconds since the cell began, events)."""
        if not self._buckets:
            return []
        first = min(self._begun) // BUCKET_NS
        return [
            ((bucket - first) * BUCKET_NS / NS_PER_S, self._buckets[bucket])
            for bucket in range(first, max(self._buckets) + 1)
        ]

    def tokens_between(self, begin_ns: int, end_ns: int) -> float:
        """Tokens that came between two moments, to a tenth of a second."""
        first, last = begin_ns / BUCKET_NS, end_ns / BUCKET_NS
        events = sum(
            count * max(0.0, min(last, bucket + 1) - max(first, bucket))
            for bucket, count in self._buckets.items()
        )
        # An event that carries several tokens counts as what the server says it was.
        return events * self._counts["tokens"] / max(1, self._counts["events"])

    def _latencies(self, record: RequestRecord) -> None:
        from_ns = record.intended_ns if self.open_loop else record.begun_ns
        arrivals = record.placed_arrivals_ns() if record.coalesced else []
        first_ns = arrivals[0] if arrivals else record.first_token_ns
        ttft_ms = (first_ns - from_ns) / NS_PER_MS if record.events else None
        e2e_ms = (record.ended_ns - from_ns) / NS_PER_MS
        tokens = record.output_tokens
        tpot_ms = (e2e_ms - ttft_ms) / (tokens - 1) if ttft_ms is not None and tokens > 1 else None
        gaps_us = _gaps_us(record, arrivals)
        self._itl_us.update(gaps_us)
        for name, value in (("ttft_ms", ttft_ms), ("tpot_ms", tpot_ms), ("e2e_ms", e2e_ms)):
            if value is not None:
                self._samples[name].append(value)
        seen = {"ttft": ttft_ms, "tpot": tpot_ms, "e2e": e2e_ms}
        if gaps_us and "itl" in self.slo_ms:
            seen["itl"] = sorted(gaps_us)[len(gaps_us) // 2] / 1000
        good = all((seen.get(name) or 0.0) <= most for name, most in self.slo_ms.items())
        self._counts["good"] += good

    def _window(self) -> tuple[int, int, str]:
        """Begin and end of what counts, before the head is cut."""
        if not self._begun:
            return 0, 0, "empty"
        begun = sorted(self._begun)
        first, last = begun[0], max(self._ended)
        wanted = self.asked_in_flight or 1
        full = begun[min(wanted, len(begun)) - 1]
        if (begun[-1] - full) < WINDOW_SHARE_MIN * (last - first):
            return first, last, "whole run"
        return full, begun[-1], "full load"

    def _batches(self, begin_ns: int, end_ns: int) -> list[int]:
        first, last = begin_ns // BUCKET_NS + 1, end_ns // BUCKET_NS
        counts = [self._buckets[bucket] for bucket in range(first, last)]
        whole = len(counts) // BUCKETS_PER_BATCH * BUCKETS_PER_BATCH
        return [
            sum(counts[at : at + BUCKETS_PER_BATCH]) for at in range(0, whole, BUCKETS_PER_BATCH)
        ]

    def _mean_in_flight(self, begin_ns: int, end_ns: int) -> float:
        overlap = sum(
            max(0, min(end_ns, ended) - max(begin_ns, begun))
            for begun, ended in zip(self._begun, self._ended, strict=True)
        )
        return overlap / (end_ns - begin_ns) if end_ns > begin_ns else 0.0

    def _quantiles(self) -> dict[str, tuple[Quantile, ...]]:
        found = {name: tuple(quantiles(values, WANTED)) for name, values in self._samples.items()}
        gaps = histogram_quantiles(self._itl_us, WANTED, independent=max(1, self._ends["ok"]))
        found["itl_ms"] = tuple(
            Quantile(one.q, _in_ms(one.value), _in_ms(one.low), _in_ms(one.high)) for one in gaps
        )
        return {name: found[name] for name in METRICS}

    def _goodput(self, window_s: float, ended: int) -> dict[str, Json] | None:
        if not self.slo_ms:
            return None
        good, total = self._counts["good"], len(self._begun)
        interval = wilson(good, total)
        return {
            "slo_ms": dict(self.slo_ms),
            "share": good / total if total else None,
            "ci": None if interval is None else list(interval),
            "requests_per_s": good / total * ended / window_s if total and window_s else None,
        }


def _gaps_us(record: RequestRecord, placed: Sequence[int]) -> list[int]:
    """The gaps between the events, in whole microseconds."""
    if placed:
        return [max(0, gap) // 1000 for gap in map(sub, placed[1:], placed)]
    return [gap // 1000 for gap in record.gaps_ns[1:]]


def _head_cut(rates: Sequence[int]) -> int | None:
    """How many batches the head has, by MSER; None where there are too few to judge."""
    if len(rates) < BATCHES_MIN:
        return None
    best, best_error = 0, float("inf")
    for cut in range(len(rates) // 2 + 1):
        rest = rates[cut:]
        mean = sum(rest) / len(rest)
        error = sum((rate - mean) ** 2 for rate in rest) / len(rest) ** 2
        if error < best_error:
            best, best_error = cut, error
    return best


def _is_level(rates: Sequence[int]) -> bool:
    """Both halves agree within `LEVEL_MAX`, or within three standard errors of their difference."""
    half = len(rates) // 2
    halves = rates[:half], rates[-half:]
    means = [sum(part) / half for part in halves]
    squares = sum(
        (rate - mean) ** 2 for part, mean in zip(halves, means, strict=True) for rate in part
    )
    error = math.sqrt(squares / max(1, 2 * half - 2) * 2 / half)
    return abs(means[1] - means[0]) <= max(LEVEL_MAX * max(means), 3 * error)


def _in_ms(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _quantiles_json(found: Sequence[Quantile]) -> dict[str, Json]:
    return {
        f"p{one.q * 100:g}": {
            "value": one.value,
            "ci": None if one.low is None or one.high is None else [one.low, one.high],
        }
        for one in found
    }
