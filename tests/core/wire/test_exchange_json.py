"""Exchanges survive the way into JSON and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange
from exonerate.core.wire.exchange_json import exchange_from_json, exchange_to_json

stamps = st.none() | st.integers(0, 2**62)
floats = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(max_size=8)

connections = st.builds(
    ConnectionFacts,
    ordinal=st.integers(1, 9),
    request_number=st.integers(1, 9),
    age_s=floats,
    idle_s=floats,
    local_port=st.none() | st.integers(1, 65535),
    closed_while_idle=st.booleans(),
)
contents = st.builds(
    ContentFacts,
    meaningful_events=st.integers(0, 999),
    done_seen=st.booleans(),
    finish_reason=st.none() | words,
    text_sha256=st.none() | words,
    defects=st.lists(words, max_size=3).map(tuple),
)
exchanges = st.builds(
    Exchange,
    session=words,
    hop=words,
    round=st.integers(1, 99),
    connection=connections,
    request_bytes=st.integers(0, 10**9),
    begun_ns=st.integers(0, 2**62),
    connected_ns=stamps,
    first_byte_ns=stamps,
    arrivals_ms=st.lists(floats, max_size=5).map(tuple),
    status=st.none() | st.integers(100, 599),
    headers=st.dictionaries(words, words, max_size=3),
    content=contents,
    end=st.sampled_from(["---", "hFD", "cZH"]),
    given_up=st.sampled_from(["no", "deadline", "provisional"]),
    error=st.none() | words,
)


@given(exchanges)
def test_an_exchange_comes_back_equal(exchange: Exchange) -> None:
    """Written as JSON text and read again, nothing is lost."""
    text = orjson.dumps(exchange_to_json(exchange))
    assert exchange_from_json(orjson.loads(text)) == exchange


@given(exchanges)
def test_unknown_and_missing_fields_are_forgiven(exchange: Exchange) -> None:
    """A record of another version is read as far as it is known."""
    value: dict[str, Any] = dict(exchange_to_json(exchange))
    value["later"] = 1
    del value["error"]
    back = exchange_from_json(value)
    same = [field.name for field in fields(Exchange) if field.name != "error"]
    assert all(getattr(back, name) == getattr(exchange, name) for name in same)
