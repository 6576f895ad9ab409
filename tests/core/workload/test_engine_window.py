"""The engine's counters beside the client's count."""

from array import array
from collections.abc import Sequence
from typing import Any

import pytest

from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.json_types import Json
from exonerate.core.workload.engine_window import engine_window
from exonerate.core.workload.result_blocks import COMPLETE, WARM_UP, RequestRecord
from exonerate.core.workload.summary import CellFold


def request(begun_s: float, *, tokens: int, flags: int = COMPLETE) -> RequestRecord:
    """A request that gets a token every 100 ms."""
    begun_ns = int(begun_s * NS_PER_S)
    return RequestRecord(
        begun_ns=begun_ns,
        ended_ns=begun_ns + tokens * 100 * NS_PER_MS,
        flags=flags,
        events=tokens,
        usage_tokens=tokens,
        gaps_ns=array("Q", [100 * NS_PER_MS] * tokens),
        lateness_us=array("H"),
    )


def window(samples: Sequence[Any], *records: RequestRecord) -> dict[str, Json]:
    """The engine's samples beside what the client counted of the requests."""
    fold = CellFold("C1", asked_in_flight=1)
    for record in records:
        fold.add(record)
    return engine_window(samples, fold.summary(), fold.tokens_between)


def sample(at_s: float, **values: float) -> tuple[int, dict[str, float]]:
    """What the engine said at a moment."""
    return int(at_s * NS_PER_S), values


def test_the_engines_rate_is_that_of_the_window() -> None:
    """The idle time around the load counts neither for the rate nor for the gauges."""
    inside = [sample(10.5 + at, generated_tokens=105 + 10 * at, running=1) for at in range(9)]
    found = window(
        [
            sample(2, generated_tokens=100, running=0),
            *inside,
            sample(30, generated_tokens=200, running=0),
        ],
        *(request(10 + number, tokens=10) for number in range(10)),
    )
    assert found["client_per_s"] == pytest.approx(10, rel=0.02)
    assert found["generated_per_s"] == pytest.approx(10)
    assert found["running_mean"] == 1
    assert found["generated_to_client"] == pytest.approx(1.0)


def test_a_window_that_was_looked_at_once_has_no_rate() -> None:
    """A rate over idle time would be an accusation of the client's own count."""
    found = window(
        [
            sample(2, generated_tokens=100, running=0),
            sample(10.5, generated_tokens=105, running=1),
            sample(30, generated_tokens=120, running=0),
        ],
        request(10, tokens=10),
        request(11, tokens=10),
    )
    assert found["generated_per_s"] is None
    assert found["running_max"] == 1


def test_warm_up_is_in_the_engines_count_too() -> None:
    """Requests that do not count for the report were generated all the same."""
    found = window(
        [sample(2, generated_tokens=0), sample(30, generated_tokens=30)],
        request(10, tokens=10, flags=COMPLETE | WARM_UP),
        *(request(11 + number, tokens=10) for number in range(2)),
    )
    assert found["generated_to_client"] == pytest.approx(1.0)


def test_a_counter_that_rises_in_lumps_has_no_rate() -> None:
    """llama.cpp counts tokens when a request ends: between two moments that is no rate."""
    lumps = [sample(10.2 + at / 2, generated_tokens=at // 2 * 10) for at in range(18)]
    found = window(
        [sample(2, generated_tokens=0), *lumps, sample(30, generated_tokens=100)],
        *(request(10 + number, tokens=10) for number in range(10)),
    )
    assert found["generated_per_s"] is None
    assert found["generated_to_client"] == pytest.approx(1.0)
