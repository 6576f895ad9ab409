"""Which kernel answered, and what a pool was like, read from rows of sockets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.delivery import answer_lost, delivered, onward_delivered, pool_state
from exonerate.core.diagnosis.facts import Facts, Round, Session, SocketSample
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

NS = 1_000_000_000
DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")
EDGE = DEPLOYMENT.hops[0]
OUR_PORT, EDGE_PORT, INNER_PORT = 5001, 8080, 8081


def session() -> Session:
    """A session at the edge whose second request hung from 1 s to 3 s."""
    request = RequestRecipe(
        path="/v1/chat/completions", model="m", max_tokens=4,
        prompt=PromptRecipe(seed=1, prompt_tokens=9),
    )  # fmt: skip
    plan = ProbeSession(
        name="victim@edge", hop="edge", url=EDGE.url, request=request, rounds=2,
        connection="reuse", think_s=0.0, deadline_s=2.0,
    )  # fmt: skip
    exchange = Exchange(
        session=plan.name,
        hop="edge",
        round=2,
        connection=ConnectionFacts(
            ordinal=1, request_number=2, age_s=1.0, idle_s=0.5, local_port=OUR_PORT
        ),
        request_bytes=1000,
        begun_ns=NS,
        connected_ns=NS,
        ended_ns=3 * NS,
        given_up="deadline",
    )
    return Session("s", plan, (Round(exchange, "hang"),), None)


def facts(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Facts:
    """One reading before the request, the same others every 0.2 s during it."""
    first = SocketSample("s", "edge", NS - NS // 10, tuple(before), process_seen=True)
    later = [
        SocketSample("s", "edge", NS + tenth * NS // 10, tuple(after), process_seen=True)
        for tenth in range(2, 20, 2)
    ]
    return Facts(
        scenes=(), sessions=(session(),), counters=(), sockets={("s", "edge"): (first, *later)},
        own_ports=frozenset({OUR_PORT}), began_ns=0, ended_ns=3 * NS,
    )  # fmt: skip


def ours(sent: int, in_a_row: int = 0) -> dict[str, Any]:
    """Our end of the connection to the edge."""
    return {
        "up": False, "local_port": OUR_PORT, "peer_port": EDGE_PORT, "state": "ESTABLISHED",
        "sent_bytes": sent, "in_a_row": in_a_row,
    }  # fmt: skip


def onward(state: str = "ESTABLISHED", in_a_row: int = 0) -> dict[str, Any]:
    """The edge's connection to the next hop."""
    return {
        "up": True, "local_port": 7000, "peer_port": INNER_PORT, "state": state,
        "sent_bytes": 10, "in_a_row": in_a_row,
    }  # fmt: skip


def test_a_request_that_was_taken_is_told_from_one_that_nobody_answers() -> None:
    """The counter of acknowledged bytes grew by the request, or segments go out again and again."""
    assert delivered(facts([ours(500)], [ours(1500)]), session()) == "acked"
    assert delivered(facts([ours(500)], [ours(500, in_a_row=3)]), session()) == "unacked"


def theirs(in_a_row: int = 0) -> dict[str, Any]:
    """The edge's end of the same connection, where its kernel is ours."""
    return {**ours(5, in_a_row), "local_port": EDGE_PORT, "peer_port": OUR_PORT}


def test_an_answer_that_was_sent_and_lost_is_told_from_one_that_was_never_sent() -> None:
    """The hop's end sends again and again, or it is quiet; one from elsewhere is not seen."""

    def seen(*rows: dict[str, Any]) -> str | None:
        return answer_lost(facts([ours(10)], rows), session(), DEPLOYMENT)

    assert seen(ours(1010), theirs()) == "no"
    assert seen(ours(1010), theirs(in_a_row=4)) == "yes"
    assert seen(ours(1010), theirs(in_a_row=1)) is None
    assert seen(ours(1010)) is None


def test_a_single_retransmission_says_nothing() -> None:
    """Links lose a segment now and then."""
    assert delivered(facts([ours(500)], [ours(500, in_a_row=1)]), session()) is None


def test_a_hops_own_connection_that_nobody_answers_is_seen() -> None:
    """The client's side was acknowledged; what the hop sent on was not."""
    lost = facts([onward()], [onward(in_a_row=2)])
    assert onward_delivered(lost, session(), EDGE, DEPLOYMENT) == "unacked"
    assert onward_delivered(facts([], [onward()]), session(), EDGE, DEPLOYMENT) == "acked"


def test_a_hop_that_cannot_be_looked_into_says_nothing() -> None:
    """Its sockets are not ours to see."""
    seen = facts([onward()], [onward(in_a_row=2)])
    hidden = {k: tuple(replace(s, process_seen=False) for s in v) for k, v in seen.sockets.items()}
    assert onward_delivered(replace(seen, sockets=hidden), session(), EDGE, DEPLOYMENT) is None


def test_a_closed_connection_that_the_request_used_up_is_told_from_one_left_alone() -> None:
    """Before the request the next hop had closed it; afterwards it is gone, or still there."""
    closed = onward("CLOSE_WAIT")
    assert pool_state(facts([closed], []), session(), EDGE, DEPLOYMENT) == "used-closed"
    assert pool_state(facts([closed], [closed]), session(), EDGE, DEPLOYMENT) == "kept-closed"
    assert pool_state(facts([onward()], [onward()]), session(), EDGE, DEPLOYMENT) == "sound"


def test_a_closed_connection_beside_a_new_one_may_have_been_put_away_unused() -> None:
    """A box that notices opens another one; the request is not lost with the old one then."""
    new = {**onward(), "local_port": 7999}
    assert pool_state(facts([onward("CLOSE_WAIT")], [new]), session(), EDGE, DEPLOYMENT) is None
