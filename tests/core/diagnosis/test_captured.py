"""What packets on this host say of a hop: what went on, what did not, and what may not be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.diagnosis.test_logged import NS, OURS, PLAN, ROUND
from tests.support.world import PATH

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.beside import read_beside
from exonerate.core.diagnosis.captured import (
    broke_off_in_packets,
    captured_passage,
    held_in_packets,
    missed_packets,
    onward_in_packets,
)
from exonerate.core.diagnosis.carried import Passage
from exonerate.core.diagnosis.faces import blames_next, passage_of, upstream_face
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.scene import Event
from exonerate.core.wire.packets.seen import (
    Capture,
    End,
    PacketConnection,
    Turn,
    capture_to_json,
)

DEPLOYMENT = parse_deployment(
    PATH.replace("127.0.0.1:8080", "10.0.0.5:8080"), path="test", folder="/"
)
EDGE = DEPLOYMENT.hops[0]
OTHER = "exonerate-00000000000000bb"
GOOD = Round(
    replace(ROUND.exchange, request_id=OTHER, given_up="no", begun_ns=NS // 2, ended_ns=NS // 2),
    "ok",
)  # fmt: skip
SESSION = Session("s", PLAN, (GOOD, ROUND), None)
SENT = Turn(
    begun_ns=NS + 1, sent_ns=NS + 2, request_bytes=900, request_acked=900, ids=(OURS,)
)  # fmt: skip
EARLIER = replace(SENT, begun_ns=NS // 2, sent_ns=NS // 2, ids=(OTHER,), end_seen=True)


def connection(*turns: Turn, **more: Any) -> PacketConnection:
    """A connection of the edge to the hop behind it."""
    usual: dict[str, Any] = {
        "client": "10.0.0.5", "client_port": 7000, "server": "127.0.0.1", "server_port": 8081,
        "near": True, "first_ns": 1, "last_ns": 3 * NS, "opened_ns": 1, "answered_ns": 2,
    }  # fmt: skip
    return PacketConnection(**{**usual, **more}, turns=turns)


def facts(*connections: PacketConnection, **more: Any) -> Facts:
    """Facts with the session, and one capture of all of it."""
    usual: dict[str, Any] = {"since_ns": 0, "until_ns": 4 * NS, "addresses": ("10.0.0.5",)}
    capture = Capture(**{**usual, **more}, connections=connections)
    event = Event("packets", 4 * NS, "packets", capture_to_json(capture))
    return Facts(
        scenes=(), sessions=(SESSION,), counters=(), sockets={}, own_ports=frozenset({5001}),
        began_ns=0, ended_ns=3 * NS, beside=read_beside([event]),
    )  # fmt: skip


def passed(seen: Facts, deployment: Deployment = DEPLOYMENT) -> Passage | None:
    """What became of the request that hung."""
    return captured_passage(seen, ROUND, EDGE, deployment)


def test_a_request_that_carries_its_id_is_recognised() -> None:
    """It went on; the answer counts once the hop's own kernel has acknowledged some of it."""
    assert passed(facts(connection(SENT))) == Passage("yes", 1, source="packets")
    came = replace(SENT, answer_bytes=10)
    assert passed(facts(connection(came))) == Passage("yes", 1, source="packets")
    taken = replace(came, answer_acked=10)
    assert passed(facts(connection(taken))) == Passage("answered", 1, source="packets")


def test_the_same_request_on_two_connections_is_two_copies() -> None:
    """Each at another port of the hop's."""
    seen = facts(connection(SENT), connection(SENT, client_port=7001))
    assert passed(seen) == Passage("yes", 2, source="packets")


def test_a_request_that_did_not_pass_where_another_did_was_kept() -> None:
    """Both faces were in sight, and nothing was missed."""
    assert passed(facts(connection(EARLIER))) == Passage("no", source="packets")
    look = connection(opened_ns=NS, ends=(End(who="client", how="fin", at_ns=NS + 9),))
    assert passed(facts(connection(EARLIER), look)) == Passage("no", source="packets")


@pytest.mark.parametrize(
    "seen",
    [
        facts(),
        facts(connection(EARLIER), dropped=1),
        facts(connection(EARLIER), left_out=1),
        facts(connection(EARLIER), clock_steps=1),
        facts(connection(EARLIER, near=False)),
        facts(connection(EARLIER, turns_left_out=1)),
        facts(connection(EARLIER, replace(SENT, ids=()))),
        facts(connection(EARLIER), connection(opened_ns=2 * NS, answered_ns=None)),
        facts(connection(EARLIER, client_port=5001)),
        facts(connection(EARLIER, client="10.0.0.9")),
        facts(connection(EARLIER), addresses=()),
        facts(connection(EARLIER, unseen_bytes=900)),
        facts(connection(EARLIER), connection(opened_ns=2 * NS)),
        facts(connection(EARLIER), connection(replace(SENT, ids=()), server_port=9999)),
        facts(connection(EARLIER), connection(server_port=9999, opened_ns=NS, answered_ns=None)),
    ],
    ids=[
        "none of ours was ever seen to pass", "packets were dropped", "connections were left out",
        "the clock was set", "a router or a cable lies before the place", "requests were left out",
        "a request passed that cannot be recognised", "a connection was tried that nobody took",
        "what passed was sent by this tool itself", "another box sent it",
        "the rest of what it sends is not seen", "by its numbers it sent more than came",
        "it opened a connection and nothing came over it", "it asked a stranger",
        "it tried to reach a stranger",
    ],
)  # fmt: skip
def test_absence_is_not_claimed_where_it_could_be_wrong(seen: Facts) -> None:
    """Less is said, never more."""
    assert passed(seen) is None


def test_a_capture_that_began_later_does_not_show_absence() -> None:
    """What came before it may have passed."""
    assert passed(facts(connection(EARLIER), since_ns=NS + 5)) is None


def test_a_request_that_somebody_in_between_sent_on_left_the_hop() -> None:
    """Whether its answer came as far as the hop was not seen then."""
    taken = replace(SENT, answer_bytes=10, answer_acked=10)
    between = connection(taken, client="10.0.0.77")
    assert passed(facts(between)) == Passage("yes", 1, source="packets")
    own = connection(SENT, server="10.0.0.77", server_port=9999)
    assert passed(facts(between, own)) == Passage("yes", 1, elsewhere=True, source="packets")


def test_good_requests_that_passed_do_not_put_the_face_in_sight() -> None:
    """A bad one may have been lost before it came here, and then nobody saw what became of it."""
    seen = facts(connection(EARLIER, near=False))
    assert upstream_face(EDGE, seen, DEPLOYMENT, [SESSION]) is None
    came = facts(connection(EARLIER, SENT, near=False))
    assert upstream_face(EDGE, came, DEPLOYMENT, [SESSION]) is not None


def test_a_request_that_went_to_a_stranger_is_elsewhere() -> None:
    """Somebody whom the deployment file does not name."""
    seen = facts(connection(SENT, server="10.0.0.77", server_port=9999))
    assert passed(seen) == Passage("yes", 1, elsewhere=True, source="packets")


def test_hops_that_share_a_port_are_told_apart_by_address() -> None:
    """In containers everybody listens on 8000; a name instead of an address tells nothing."""
    shared = [replace(hop, url=f"http://10.0.0.{n}:8000") for n, hop in enumerate(DEPLOYMENT.hops)]
    deployment = replace(DEPLOYMENT, hops=tuple(shared))
    inner = connection(SENT, server="10.0.0.1", server_port=8000)
    to_itself = connection(SENT, server="10.0.0.0", server_port=8000)
    assert passed(facts(inner), deployment) == Passage("yes", 1, source="packets")
    assert passed(facts(to_itself), deployment) is None


def test_packets_show_the_face_of_the_hop_and_say_so() -> None:
    """In the evidence of a verdict."""
    seen = facts(connection(EARLIER))
    found = upstream_face(EDGE, seen, DEPLOYMENT, [SESSION])
    assert found is not None
    assert (found.value, found.text) == ("seen", "by packets on this host")
    assert passage_of(seen, SESSION, ROUND, EDGE, DEPLOYMENT) == Passage("no", source="packets")


RESET = (End(who="server", how="reset", at_ns=2 * NS),)
CLOSED = (End(who="server", how="fin", at_ns=2 * NS),)
PART = replace(SENT, answer_bytes=100, answer_acked=100)


@pytest.mark.parametrize(
    ("turns", "ends", "blamed"),
    [
        ((SENT,), RESET, True),
        ((SENT,), CLOSED, True),
        ((PART,), RESET, True),
        ((EARLIER, PART), CLOSED, True),
        ((PART,), CLOSED, False),
        ((replace(PART, end_seen=True),), CLOSED, False),
        ((SENT,), (End(who="client", how="fin", at_ns=2 * NS), *RESET), False),
        ((SENT,), (End(who="server", how="fin", at_ns=9 * NS),), False),
        ((EARLIER,), RESET, False),
    ],
    ids=[
        "reset", "closed before a byte", "reset in the middle", "closed without its end",
        "closed, and ends do not show here", "closed behind a whole answer", "the hop left first",
        "much later", "another request's connection",
    ],
)  # fmt: skip
def test_who_ended_it_first_decides_whom_the_hop_may_blame(
    turns: tuple[Turn, ...], ends: tuple[End, ...], blamed: bool
) -> None:
    """A close of the next hop counts where its answer was certainly unfinished."""
    seen = facts(connection(*turns, ends=ends))
    assert broke_off_in_packets(seen, ROUND, EDGE, DEPLOYMENT) == blamed
    assert blames_next(seen, SESSION, ROUND, EDGE, DEPLOYMENT) == blamed


@pytest.mark.parametrize(
    ("seen", "value"),
    [
        (facts(connection(SENT)), "acked"),
        (facts(connection(replace(SENT, request_acked=400, unanswered=2))), "unacked"),
        (facts(connection(replace(SENT, request_acked=400, unanswered=1))), None),
        (facts(connection(opened_ns=2 * NS, answered_ns=None, syn_again=2)), "unacked"),
        (facts(), None),
    ],
    ids=["taken", "sent again and again", "sent again once", "no handshake", "not seen"],
)
def test_what_nobody_acknowledged_was_lost_on_the_way(seen: Facts, value: str | None) -> None:
    """A program that is stuck has a kernel that answers."""
    assert onward_in_packets(seen, SESSION, EDGE, DEPLOYMENT) == value


def test_an_answer_that_reached_the_hop_long_before_its_client_was_held() -> None:
    """Its head, and two packets of tokens."""
    stamps = tuple(NS + n * NS // 10 for n in range(1, 5))
    turn = replace(SENT, answer_bytes=90, answer_stamps_ns=stamps)
    for first_ns, value in ((2 * NS, "yes"), (NS + NS // 10, "no")):
        round_ = Round(replace(ROUND.exchange, first_byte_ns=first_ns), "ok")
        session = replace(SESSION, rounds=(round_,))
        seen = facts(connection(turn))
        assert held_in_packets(seen, session, EDGE, DEPLOYMENT) == value


def test_what_a_capture_missed_is_listed() -> None:
    """With how much it was."""
    missed = missed_packets(facts(packets=90, dropped=10, left_out=3, clock_steps=1))
    assert missed == [
        "packets: 10 of 100 came too fast",
        "packets: of 3 connections nothing was kept",
        "packets: the clock of this host was set meanwhile",
    ]
    assert missed_packets(facts(connection(SENT))) == []
