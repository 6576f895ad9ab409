"""The numbers of a cell follow from its records."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest

from exonerate.core.workload.order_statistics import (
    histogram_quantiles,
    quantiles,
    wilson,
)
from exonerate.core.workload.result_blocks import (
    COMPLETE,
    WARM_UP,
    CoalescedRead,
    RequestRecord,
)
from exonerate.core.workload.summary import CellFold

MS = 1_000_000


def record(begun_ms: int, **changes: Any) -> RequestRecord:
    """A complete request: first token after 50 ms, then 9 more, 10 ms apart."""
    gaps = changes.pop("gaps_ms", [50] + [10] * 9)
    fields: dict[str, Any] = {
        "begun_ns": begun_ms * MS,
        "intended_ns": begun_ms * MS,
        "first_token_ns": (begun_ms + gaps[0]) * MS,
        "ended_ns": (begun_ms + sum(gaps)) * MS,
        "events": len(gaps),
        "usage_tokens": len(gaps),
        "flags": COMPLETE,
        "gaps_ns": array("I", [gap * MS for gap in gaps]),
        "lateness_us": array("H"),
    }
    fields.update(changes)
    return RequestRecord(**fields)


def folded(records: list[RequestRecord], **changes: Any) -> Any:
    """The summary of these records."""
    fold = CellFold(load="C1", **changes)
    for one in records:
        fold.add(one)
    return fold.summary()


def back_to_back(count: int, lanes: int = 1) -> list[RequestRecord]:
    """Requests of 140 ms, one after the other on each lane."""
    return [record(140 * at) for at in range(count) for _ in range(lanes)]


def test_latencies_are_those_of_the_records() -> None:
    """TTFT, ITL, TPOT and E2E of a run of equal requests are exact."""
    summary = folded(back_to_back(30), asked_in_flight=1)
    medians = {name: found[0].value for name, found in summary.latencies.items()}
    assert medians == {"ttft_ms": 50.0, "itl_ms": 10.0, "tpot_ms": 10.0, "e2e_ms": 140.0}


def test_throughput_counts_tokens_when_they_came() -> None:
    """Ten tokens every 140 ms on each of four lanes are 286 tokens a second."""
    summary = folded(back_to_back(60, lanes=4), asked_in_flight=4)
    assert summary.window == "full load"
    assert summary.output_tokens_per_s == pytest.approx(4 * 10 / 0.14, rel=0.02)
    assert summary.requests_per_s == pytest.approx(4 / 0.14, rel=0.05)
    assert summary.mean_in_flight == pytest.approx(4, rel=0.02)


def test_an_event_of_several_tokens_counts_as_the_server_counts() -> None:
    """Where usage says 20 tokens for 10 events, throughput is that of tokens."""
    summary = folded([record(140 * at, usage_tokens=20) for at in range(60)], asked_in_flight=1)
    assert summary.output_tokens_per_s == pytest.approx(20 / 0.14, rel=0.03)
    assert (summary.usage_tokens, summary.counted_events) == (1200, 600)


def test_failures_are_counted_by_end_code_and_stay_out_of_latencies() -> None:
    """A fast failure never makes a service look fast."""
    failed = record(5, flags=0, end="hXH", events=0, gaps_ms=[1])
    summary = folded([*back_to_back(20), failed])
    assert summary.ends == {"hXH": 1, "ok": 20}
    assert summary.latencies["e2e_ms"][0].value == 140.0


def test_warm_up_does_not_count() -> None:
    """Warm-up requests are in the file and not in the numbers."""
    assert folded([record(0, flags=COMPLETE | WARM_UP), *back_to_back(5)]).requests == 5


def test_an_open_loop_counts_from_the_intended_time() -> None:
    """A request that went out late has its waiting in its latency."""
    late = [record(140 * at, intended_ns=(140 * at - 30) * MS) for at in range(20)]
    summary = folded(late, open_loop=True)
    assert summary.latencies["ttft_ms"][0].value == 80.0
    assert summary.latencies["e2e_ms"][0].value == 170.0


def test_events_that_a_late_loop_lumped_together_are_spread_out() -> None:
    """Two events of one read, for which nothing was read in 20 ms, are taken to be 10 ms apart."""
    late = record(0, gaps_ms=[70, 0, 10], coalesced=(CoalescedRead(0, 2, 20 * MS),))
    summary = folded([late] * 5)
    assert summary.latencies["ttft_ms"][0].value == 60.0
    assert summary.latencies["itl_ms"][0].value == 10.0


def test_a_burst_that_was_watched_stays_a_burst() -> None:
    """Events that came together while the loop was reading are not spread over the silence."""
    burst = record(0, gaps_ms=[200, 0, 0, 0], coalesced=(CoalescedRead(0, 4, MS // 10),))
    summary = folded([burst] * 5)
    assert summary.latencies["itl_ms"][0].value == 0.025
    assert summary.latencies["ttft_ms"][0].value == pytest.approx(200, abs=0.2)


def test_goodput_needs_every_limit_kept() -> None:
    """One limit missed is a request that does not count."""
    records = [*back_to_back(15), *[record(0, gaps_ms=[500, 10])] * 5]
    summary = folded(records, slo_ms={"ttft": 100.0, "itl": 20.0})
    assert summary.goodput["share"] == 0.75
    low, high = summary.goodput["ci"]
    assert low < 0.75 < high


def test_a_head_that_is_slower_is_cut() -> None:
    """Warming up at half speed for three seconds does not lower the throughput."""
    slow = [record(280 * at, gaps_ms=[100] + [20] * 9) for at in range(11)]
    fast = [record(3080 + 140 * at) for at in range(150)]
    summary = folded([*slow, *fast], asked_in_flight=1)
    assert summary.output_tokens_per_s == pytest.approx(10 / 0.14, rel=0.02)
    assert summary.steady


def test_a_drift_is_not_steady() -> None:
    """A service that gets ever slower has no steady throughput, and it is said."""
    begun, records = 0, []
    for at in range(200):
        gap = 5 + at // 10
        records.append(record(begun, gaps_ms=[gap] * 10))
        begun += 10 * gap
    assert folded(records, asked_in_flight=1).steady is False


def test_no_request_gives_no_numbers() -> None:
    """An empty cell has nothing, and nothing is made up."""
    summary = folded([])
    assert summary.output_tokens_per_s is None
    assert summary.latencies["ttft_ms"][0].value is None


def test_a_tail_that_n_does_not_hold_is_not_shown() -> None:
    """p99 of forty requests is their largest; it is not shown as a p99."""
    few = quantiles(range(40), (0.5, 0.99))
    many = quantiles(range(5000), (0.99,))
    assert few[0].low is not None
    assert few[1].value is None
    assert many[0].value == 4949
    assert many[0].low is not None
    assert many[0].low < 4949 < (many[0].high or 0)


def test_the_intervals_cover() -> None:
    """Nineteen of twenty intervals of a median hold the true one, by simulation."""
    rng = random.Random(7)
    hits = 0
    for _ in range(400):
        found = quantiles([rng.expovariate(1.0) for _ in range(60)], (0.5,))[0]
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.6931 <= found.high
    assert hits / 400 > 0.93


def test_a_histogram_gives_the_same_quantiles() -> None:
    """Counts of values are as good as the values."""
    values = [value * value % 997 for value in range(3000)]
    counts = {value: values.count(value) for value in set(values)}
    exact = quantiles(values, (0.5, 0.9))
    found = histogram_quantiles(counts, (0.5, 0.9), independent=3000)
    assert [one.value for one in found] == [one.value for one in exact]


def test_wilson_stays_inside_zero_and_one() -> None:
    """All of ten is not a hundred percent for sure."""
    interval = wilson(10, 10)
    assert interval is not None
    assert 0.7 < interval[0] < interval[1] == pytest.approx(1.0)
    assert wilson(0, 0) is None
