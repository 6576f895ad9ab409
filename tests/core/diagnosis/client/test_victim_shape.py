"""The victim's shape from what it really sent."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.deployment.model import Victim
from exonerate.core.diagnosis.client.victim_shape import (
    BYTES_PER_TOKEN,
    ENVELOPE_BYTES,
    NS_PER_S,
    SentRequest,
    model_of,
    victim_of,
)


def sent(number: int, *, tokens: int, begun_s: float, took_s: float = 0.5) -> SentRequest:
    """One request of a conversation."""
    return SentRequest(
        begun_ns=int(begun_s * NS_PER_S),
        ended_ns=int((begun_s + took_s) * NS_PER_S),
        path="/v1/completions",
        body_bytes=round(ENVELOPE_BYTES + tokens * BYTES_PER_TOKEN),
        request_number=number,
        stream=False,
        model="m",
        max_tokens=9,
    )


TALK = [sent(n + 1, tokens=100 + 50 * n, begun_s=2.0 * n) for n in range(4)]


def test_a_conversation_shows_its_size_growth_pauses_and_connection() -> None:
    """Everything that the requests show replaces what was only assumed."""
    victim = victim_of(TALK, Victim())
    assert (victim.endpoint, victim.stream, victim.max_tokens) == ("/v1/completions", False, 9)
    assert victim.prompt_tokens == pytest.approx(100, abs=1)
    assert victim.growth_tokens == pytest.approx(50, abs=1)
    assert victim.think_s == pytest.approx(1.5)
    assert (victim.connection, victim.concurrency) == ("reuse", 1)
    assert victim.rounds == len(TALK) + 1
    assert model_of(TALK) == "m"


def test_new_connections_and_overlapping_requests_are_copied() -> None:
    """A client that opens a connection each time, and asks twice at once."""
    crowd = [replace(one, request_number=1, begun_ns=0) for one in TALK]
    victim = victim_of(crowd, Victim())
    assert (victim.connection, victim.concurrency) == ("fresh", 4)


def test_the_tokens_that_the_server_counted_outweigh_the_bytes() -> None:
    """A long prompt of short tokens takes as long as its tokens say."""
    assert victim_of([replace(TALK[0], prompt_tokens=900)], Victim()).prompt_tokens == 900


def test_slow_good_answers_lengthen_the_patience() -> None:
    """Probes must not give up on what the victim itself waited for."""
    slow = [sent(1, tokens=10, begun_s=0.0, took_s=12.0)]
    assert victim_of(slow, Victim(deadline_s=20)).deadline_s == pytest.approx(48)


def test_nothing_sent_leaves_the_victim_as_it_was() -> None:
    """An empty capture says nothing."""
    assert victim_of([], Victim(rounds=3)) == Victim(rounds=3)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.floats(0, 100), st.floats(0, 100)),
        min_size=1,
        max_size=20,
    )
)
def test_any_traffic_gives_a_victim_within_bounds(rows: list[tuple[int, float, float]]) -> None:
    """No traffic makes this tool send without limit."""
    traffic = [sent(1, tokens=t, begun_s=b, took_s=d) for t, b, d in rows]
    victim = victim_of(traffic, Victim())
    assert 2 <= victim.rounds <= 30
    assert 0 <= victim.think_s <= 30
    assert victim.prompt_tokens >= 1
    assert victim.growth_tokens >= 0
    assert 20 <= victim.deadline_s <= 120
