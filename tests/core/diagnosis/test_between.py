"""What a tap before the next hop says of the hop before it."""

from dataclasses import replace

import pytest
from tests.core.diagnosis.test_logged import PLAN, ROUND, facts
from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.beside import Beside
from exonerate.core.diagnosis.between import (
    broke_off_at_tap,
    held_at_tap,
    tapped_passage,
    unused_taps,
)
from exonerate.core.diagnosis.carried import Passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.wire.exchange import ConnectionFacts, Exchange
from exonerate.core.wire.request_reader import Asked
from exonerate.core.wire.tapped import TappedExchange

NS = 1_000_000_000
TAPPED = PATH.replace(
    'url = "http://127.0.0.1:8081"', 'url = "http://127.0.0.1:8081"\ntap = "http://127.0.0.1:9"'
)
DEPLOYMENT = parse_deployment(TAPPED, path="test", folder="/")
EDGE = DEPLOYMENT.hops[0]
OURS = ROUND.exchange.request_id
OTHER = "exonerate-00000000000000bb"
GOOD = Round(
    replace(
        ROUND.exchange, request_id=OTHER, given_up="no", first_token_ns=2 * NS, ended_ns=2 * NS
    ),
    "ok",
)  # fmt: skip


def crossed(
    request_id: str = OURS,
    *,
    connection: int = 1,
    answer_bytes: int = 0,
    ended_by: str = "client",
    how: str = "fin",
    arrivals_ms: tuple[float, ...] = (),
) -> TappedExchange:
    """One exchange before the hop `inner`, begun at 1.1 s."""
    place = ConnectionFacts(
        ordinal=connection, request_number=1, age_s=0, idle_s=0, local_port=None
    )
    exchange = Exchange(
        session="tap", hop="inner", round=1, connection=place, request_bytes=900,
        begun_ns=NS + NS // 10, arrivals_ms=arrivals_ms,
    )  # fmt: skip
    asked = Asked(
        method="POST", path="/v1/x", http_version="1.1", framing="length", request_id=request_id
    )
    return TappedExchange(
        asked=asked, exchange=exchange, request_complete=True, request_ended_ns=NS,
        ended_by=ended_by, how=how, answer_bytes=answer_bytes,  # type: ignore[arg-type]  # its words
    )  # fmt: skip


def seen(*exchanges: TappedExchange) -> Facts:
    """Facts with a round that hung, one that went well, and what crossed the tap."""
    sessions = (Session("s", PLAN, (GOOD, ROUND), None),)
    return replace(facts([]), sessions=sessions, beside=Beside(tapped=exchanges))


def passed(*exchanges: TappedExchange) -> Passage | None:
    """What became of the round that hung."""
    return tapped_passage(seen(*exchanges), ROUND, EDGE, DEPLOYMENT)


def test_what_crossed_had_left() -> None:
    """Without an answer, with one, and twice."""
    assert passed(crossed()) == Passage("yes", 1, source="tap")
    assert passed(crossed(answer_bytes=5)) == Passage("answered", 1, source="tap")
    assert passed(crossed(), crossed(connection=2)) == Passage("yes", 2, source="tap")


def test_one_exchange_that_is_told_twice_is_one() -> None:
    """Open at the end of a scene, over in the next."""
    assert passed(crossed(), crossed(answer_bytes=5)) == Passage("answered", 1, source="tap")


def test_what_did_not_cross_has_stayed_where_others_crossed() -> None:
    """A hop that replaces our ids shows none of them, and then nothing is said."""
    assert passed(crossed(OTHER)) == Passage("no", source="tap")
    assert passed(crossed("exonerate-00000000000000cc")) is None
    assert passed() is None


@pytest.mark.parametrize(
    ("ended_by", "how", "blamed"),
    [
        ("hop", "fin", True),
        ("hop", "reset", True),
        ("hop", "framed", False),
        ("client", "fin", False),
    ],
)
def test_a_next_hop_that_breaks_off_is_seen_to(ended_by: str, how: str, blamed: bool) -> None:
    """A whole answer, or a hop that left by itself, is no breach of the next one."""
    told = seen(crossed(ended_by=ended_by, how=how))
    assert broke_off_at_tap(told, ROUND, EDGE, DEPLOYMENT) is blamed


def test_tokens_that_crossed_long_before_the_client_had_any_were_held() -> None:
    """The client's first token came at 2 s."""
    session = Session("s", PLAN, (GOOD,), None)
    early = crossed(OTHER, arrivals_ms=(100.0, 300.0, 500.0, 850.0))
    prompt = crossed(OTHER, arrivals_ms=(890.0, 950.0, 990.0, 1100.0))
    assert held_at_tap(seen(early), session, EDGE, DEPLOYMENT) == "yes"
    assert held_at_tap(seen(prompt), session, EDGE, DEPLOYMENT) == "no"
    assert held_at_tap(seen(), session, EDGE, DEPLOYMENT) is None


def test_a_tap_that_nothing_crosses_is_said() -> None:
    """The hop before it still has the old address."""
    assert unused_taps(seen(), DEPLOYMENT) == [
        "the tap before `inner`: no request crossed it; does the hop before it send there?"
    ]
    assert unused_taps(seen(crossed()), DEPLOYMENT) == []
