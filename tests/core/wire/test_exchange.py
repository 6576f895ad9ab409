"""What an exchange says about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.instant import NS_PER_MS
from exonerate.core.wire.exchange import ConnectionFacts, Exchange


def exchange_of(arrivals_ms: tuple[float, ...], end_ms: float) -> Exchange:
    """A complete exchange with these arrivals."""
    facts = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=None)
    return Exchange(
        session="victim",
        hop="edge",
        round=1,
        connection=facts,
        request_bytes=100,
        begun_ns=0,
        ended_ns=int(end_ms * NS_PER_MS),
        arrivals_ms=arrivals_ms,
    )


@given(st.lists(st.floats(0, 5000), max_size=6), st.floats(5000, 9000))
def test_the_longest_silence_is_the_widest_gap_between_begin_events_and_end(
    arrivals_ms: list[float], end_ms: float
) -> None:
    """An answer without events is silent throughout; every event can only shorten the silence."""
    exchange = exchange_of(tuple(sorted(arrivals_ms)), end_ms)
    silent = exchange_of((), end_ms)
    assert silent.longest_silence_s == pytest.approx(end_ms / 1e3, abs=1e-6)
    assert exchange.longest_silence_s <= silent.longest_silence_s
    assert exchange.longest_silence_s >= end_ms / 1e3 / (len(arrivals_ms) + 1) - 1e-6
