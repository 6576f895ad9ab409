"""How one exchange is summed up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exonerate.core.diagnosis.facts import outcome_of
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange

CONNECTION = ConnectionFacts(ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=1)


def answered(*defects: str, done_seen: bool) -> Exchange:
    """An answer that its framing ended."""
    return Exchange(
        session="s", hop="h", round=1, connection=CONNECTION, request_bytes=1, begun_ns=0,
        connected_ns=1, ended_ns=10, status=200, body_complete=True,
        content=ContentFacts(done_seen=done_seen, defects=defects),
    )  # fmt: skip


@pytest.mark.parametrize("defect", ["undecodable-coding", "oversized-body"])
def test_what_could_not_be_read_lacks_nothing(defect: str) -> None:
    """A hop whose answer we cannot read is not accused of losing the end of it."""
    assert outcome_of(answered(defect, done_seen=False), None) == "unfinished"
    assert outcome_of(answered(done_seen=False), None) == "lost-ending"


def test_a_garbled_coding_is_a_corrupt_answer() -> None:
    """Bytes that are not in the coding their head names were damaged on the way."""
    assert outcome_of(answered("invalid-coding", done_seen=False), None) == "corrupt"
    assert outcome_of(answered("cut-coding", done_seen=False), None) == "lost-ending"


@pytest.mark.parametrize(
    ("end", "error"), [("hXK", "its certificate was refused"), ("hXH", "speaks-http2")]
)
def test_a_probe_that_could_not_ask_has_seen_nothing(end: str, error: str) -> None:
    """TLS that fails and another version of HTTP are no answer of the hop to the victim's shape."""
    seen = replace(answered(done_seen=False), status=None, body_complete=False, end=end)
    assert outcome_of(replace(seen, error=error), None) == "unfinished"
    assert outcome_of(replace(seen, end="hFH"), None) == "no-answer"
    assert outcome_of(replace(seen, connected_ns=None), None) == "no-connect"


def test_an_error_in_the_stream_ends_the_answer() -> None:
    """litellm ends such a stream well, vLLM even with `[DONE]`; the answer is cut all the same."""
    assert outcome_of(answered("error-event", done_seen=False), None) == "cut"
    assert outcome_of(answered("error-event", done_seen=True), None) == "cut"


@pytest.mark.parametrize(
    ("status", "outcome"), [(400, "refused"), (408, "server-error"), (429, "refused")]
)
def test_a_gateway_that_says_408_has_not_refused(status: int, outcome: str) -> None:
    """It says that the next hop took too long."""
    assert outcome_of(replace(answered(done_seen=False), status=status), None) == outcome
