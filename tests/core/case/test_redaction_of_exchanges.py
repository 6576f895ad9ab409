"""Facts about an answer pass the allow-list, the answer itself never does."""

from dataclasses import replace

from exonerate.core.case.redaction import Redactor
from exonerate.core.wire.exchange import ConnectionFacts, ContentFacts, Exchange
from exonerate.core.wire.exchange_json import exchange_from_json, exchange_to_json


def test_an_exchange_comes_back_from_the_ledger_as_it_was_seen() -> None:
    """A verdict refolded from the ledger sees the same facts as the one that was given."""
    exchange = Exchange(
        session="victim@edge",
        hop="edge",
        round=1,
        connection=ConnectionFacts(
            ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=4711
        ),
        request_bytes=10,
        begun_ns=1,
        content=ContentFacts(meaningful_events=3, done_seen=True, text_sha256="ab"),
    )
    redactor = Redactor(b"key", frozenset())
    data = redactor.body({"data": exchange_to_json(exchange)})["data"]
    assert isinstance(data, dict)
    # The hash of the answer's text is hashed again with the key: equal answers stay equal.
    keyed = replace(exchange.content, text_sha256=redactor.secret("ab"))
    assert exchange_from_json(data) == replace(exchange, content=keyed)


def test_a_message_of_several_parts_is_not_taken_for_facts() -> None:
    """What users write as an object is hashed like any text of theirs."""
    kept = Redactor(b"key", frozenset()).body({"content": {"type": "text", "text": "my secret"}})
    assert "my secret" not in repr(kept)
