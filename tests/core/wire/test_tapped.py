"""What crossed a tap: who asked what, what came back, and who ended it first."""

import json

from tests.support.tapped import Connection, answer, request, status_answer

from exonerate.core.wire.tapped import (
    tapped_connection_from_json,
    tapped_connection_to_json,
    tapped_exchange_from_json,
    tapped_exchange_to_json,
)


def test_two_whole_exchanges_on_one_connection() -> None:
    """Each is complete; the second knows its number and how long the connection had been idle."""
    told = Connection(1).ask(0.1).reply(0.2).ask(1.0).reply(1.1)
    connection = told.over(2.0)
    first, second = told.exchanges
    assert first.exchange.complete
    assert second.exchange.complete
    assert (first.ended_by, first.how) == ("nobody", "framed")
    assert second.exchange.connection.request_number == 2
    assert 0.6 < second.exchange.connection.idle_s < 0.8
    assert first.asked.model == "m"
    assert connection.requests == 2
    assert connection.chunks[0][0] == "client"


def test_a_client_that_closes_while_it_waits_has_given_up() -> None:
    """The exchange ends when the client left, not when the hop noticed."""
    told = Connection(1).ask(0.0).client_fin(1.5).hop_fin(4.0)
    told.over(5.0)
    (exchange,) = told.exchanges
    assert exchange.ended_by == "client"
    assert exchange.exchange.given_up == "deadline"
    assert exchange.exchange.ended_ns == 1_500_000_001


def test_an_answer_after_half_close_counts_where_the_client_took_it() -> None:
    """A client that only stopped sending gets its answer whole."""
    told = Connection(1).ask(0.0).client_fin(0.01).reply(0.3).hop_fin(0.6)
    told.over(1.0)
    (exchange,) = told.exchanges
    assert exchange.exchange.complete
    assert exchange.half_closed_ns is not None


def test_an_answer_to_a_client_that_is_gone_is_no_answer() -> None:
    """Its kernel resets what comes after the close: the client had given up."""
    told = Connection(1).ask(0.0).client_fin(1.4).reply(2.0).client_reset(2.2)
    told.over(3.0)
    (exchange,) = told.exchanges
    assert (exchange.ended_by, exchange.exchange.given_up) == ("client", "deadline")


def test_a_request_on_a_connection_that_the_hop_had_closed_shows_it() -> None:
    """The hop's FIN came first: that is the client's stale connection."""
    told = Connection(1).ask(0.0).reply(0.1).hop_fin(1.0).ask(1.5).client_fin(1.51)
    told.over(2.0)
    stale = told.exchanges[1]
    assert stale.hop_closed_ns == 1_000_000_001
    assert stale.exchange.connection.closed_while_idle
    assert stale.exchange.first_byte_ns is None


def test_a_hop_that_closes_in_mid_answer_ended_it() -> None:
    """FIN without the last chunk is a cut by the hop."""
    told = Connection(1).ask(0.0).reply(0.1, answer()[:3]).hop_fin(0.5)
    told.over(1.0)
    (exchange,) = told.exchanges
    assert (exchange.ended_by, exchange.how) == ("hop", "fin")
    assert exchange.exchange.end == "hFD"


def test_what_a_reader_up_to_the_end_marker_leaves_behind_is_counted() -> None:
    """The read with the end marker and all after it are not needed to know the answer."""
    told = Connection(1).ask(0.0).reply(0.1)
    told.over(1.0)
    (exchange,) = told.exchanges
    assert exchange.answer_bytes == sum(len(read) for read in answer())
    assert exchange.unneeded_bytes == sum(len(read) for read in answer()[-2:])


def test_pipelined_requests_are_counted_only() -> None:
    """Two requests at once are not paired with answers by guessing."""
    told = Connection(1).ask(0.0, request() + request()).reply(0.1)
    connection = told.over(1.0)
    assert connection.unread == "pipelined"
    assert told.exchanges == []
    assert connection.hop_bytes > 0


def test_a_hop_that_refuses_is_seen_on_the_connection() -> None:
    """The tap could not connect; no exchange took place."""
    told = Connection(1)
    told.reducer.refused("refused", 5)
    assert told.over(1.0).error == "refused"


def test_everything_survives_the_ledger() -> None:
    """Exchanges and connections come back from JSON as they were."""
    told = Connection(1).ask(0.0).reply(0.1, [status_answer(429)]).ask(1.0).client_reset(1.2)
    connection = told.over(2.0)
    for exchange in told.exchanges:
        written = json.loads(json.dumps(tapped_exchange_to_json(exchange)))
        assert tapped_exchange_from_json(written) == exchange
    written = json.loads(json.dumps(tapped_connection_to_json(connection)))
    assert tapped_connection_from_json(written) == connection
