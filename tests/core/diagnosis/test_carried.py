"""What byte counters say about one request at a hop."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.carried import (
    Passage,
    copies_at_engines,
    leg_answered,
    passage,
    read_state,
    upstream_in_sight,
)
from exonerate.core.diagnosis.facts import Facts, Round, Session, SocketSample
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

NS = 1_000_000_000
DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")
EDGE = DEPLOYMENT.hops[0]
REQUEST_BYTES = 1000


def session(local_port: int = 5001) -> Session:
    """A victim's session at the edge whose only round hung from 1 s to 3 s."""
    request = RequestRecipe(
        path="/v1/chat/completions",
        model="m",
        prompt=PromptRecipe(seed=1, prompt_tokens=9),
        max_tokens=4,
    )
    plan = ProbeSession(
        name="victim@edge", hop="edge", url=EDGE.url, request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=2.0,
    )  # fmt: skip
    exchange = Exchange(
        session=plan.name,
        hop="edge",
        round=1,
        connection=ConnectionFacts(
            ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=local_port
        ),
        request_bytes=REQUEST_BYTES,
        begun_ns=NS,
        connected_ns=NS,
        ended_ns=3 * NS,
        given_up="deadline",
    )
    return Session("s", plan, (Round(exchange, "hang"),), None)


def facts(samples: Sequence[SocketSample]) -> Facts:
    """Facts that hold the session and these readings."""
    grouped: dict[tuple[str, str], tuple[SocketSample, ...]] = {}
    for sample in samples:
        key = (sample.scene, sample.hop)
        grouped[key] = (*grouped.get(key, ()), sample)
    return Facts(
        scenes=(), sessions=(session(),), counters=(), sockets=grouped,
        own_ports=frozenset({5001}), began_ns=0, ended_ns=3 * NS,
    )  # fmt: skip


def readings(hop: str, after: Sequence[dict[str, Any]], *, process: bool) -> list[SocketSample]:
    """One reading without rows before the round, then the same rows every 0.2 s."""
    first = SocketSample("s", hop, NS // 2, (), process)
    later = [
        SocketSample("s", hop, NS + tenth * NS // 10, tuple(after), process)
        for tenth in range(2, 20, 2)
    ]
    return [first, *later]


def onward(sent: int, received: int, peer: str, port: int = 7000) -> dict[str, Any]:
    """An onward socket of the hop's own process."""
    return {
        "up": True, "peer": peer, "local_port": port, "peer_port": 1, "state": "ESTABLISHED",
        "sent_bytes": sent, "received_bytes": received, "accepted": True,
    }  # fmt: skip


def judged(rows: Sequence[dict[str, Any]]) -> Passage | None:
    """What is made of these onward sockets; the next hop shows nothing."""
    samples = readings("edge", rows, process=True) + readings("inner", (), process=False)
    seen = facts(samples)
    own = seen.sessions[0]
    return passage(seen, own, own.rounds[0], EDGE, DEPLOYMENT)


def test_a_process_whose_sockets_carry_nothing_has_kept_the_request() -> None:
    """Both views agree: it did not leave."""
    assert judged([]) == Passage("no")


def test_an_onward_socket_that_grew_by_the_request_has_carried_it() -> None:
    """To a known hop, once, without an answer."""
    assert judged([onward(1010, 0, "127.0.0.1:8081")]) == Passage("yes", 1, elsewhere=False)


def test_an_answer_that_came_back_is_seen() -> None:
    """The hop got it; whether it passed it on is another question."""
    found = judged([onward(1010, 400, "127.0.0.1:8081")])
    assert found is not None
    assert found.left == "answered"


def test_a_request_that_went_somewhere_else_is_seen() -> None:
    """An address that is no hop of the deployment."""
    found = judged([onward(1010, 0, "127.0.0.1:9999")])
    assert found is not None
    assert found.elsewhere


def test_copies_are_counted() -> None:
    """Two connections carried one request each."""
    found = judged(
        [onward(1000, 0, "127.0.0.1:8081", 7000), onward(1000, 0, "127.0.0.1:8081", 7001)]
    )
    assert found is not None
    assert found.copies == 2


def test_without_a_reading_before_the_round_nothing_is_said() -> None:
    """Older bytes could not be told from this request's."""
    samples = readings("edge", (), process=True)[1:]
    seen = facts(samples)
    own = seen.sessions[0]
    assert passage(seen, own, own.rounds[0], EDGE, DEPLOYMENT) is None


def test_a_process_first_seen_after_the_request_leaves_its_way_unknown() -> None:
    """What a stranger sends to the next hop is not taken for what the hop sent on."""
    stranger = {
        "up": False, "peer": None, "local_port": 8081, "peer_port": 9000, "state": "ESTABLISHED",
        "received_bytes": REQUEST_BYTES, "sent_bytes": 0, "accepted": True,
    }  # fmt: skip
    unread, *later = readings("edge", (), process=True)
    late = replace(unread, process_seen=False)
    inner = readings("inner", [stranger], process=False)

    def said(samples: Sequence[SocketSample]) -> tuple[Passage | None, bool]:
        found = facts([*samples, *inner])
        own = found.sessions[0]
        about = (found, own, own.rounds[0], EDGE, DEPLOYMENT)
        return passage(*about), upstream_in_sight(*about)

    assert said([late, *later]) == (None, False)
    assert said([unread, *later]) == (Passage("yes", 1), True)
    unseen = [replace(sample, process_seen=False) for sample in later]
    assert said([late, *unseen]) == (Passage("yes", 1), True)


def test_a_connection_that_no_program_took_is_told_from_one_that_was_read() -> None:
    """The kernel answers for a program that has no descriptor left."""

    def state(*, accepted: bool, unread: int) -> str | None:
        row = {
            "local_port": 8080, "peer_port": 5001, "state": "ESTABLISHED", "up": False,
            "accepted": accepted, "unread_bytes": unread,
        }  # fmt: skip
        return read_state(facts(readings("edge", [row], process=True)), session(), DEPLOYMENT)

    assert state(accepted=False, unread=1000) == "not-accepted"
    assert state(accepted=True, unread=1000) == "unread"
    assert state(accepted=True, unread=0) == "read"


def test_an_upstream_side_that_carries_requests_is_in_sight() -> None:
    """Also while several requests of ours are under way, which hides whose bytes they were."""

    def in_sight(rows: Sequence[dict[str, Any]]) -> bool:
        samples = readings("edge", rows, process=True) + readings("inner", (), process=False)
        seen = facts(samples)
        own = seen.sessions[0]
        return upstream_in_sight(seen, own, own.rounds[0], EDGE, DEPLOYMENT)

    assert in_sight([onward(1010, 400, "127.0.0.1:8081")])
    assert not in_sight([])


def test_an_engine_that_gets_copies_is_told_of_them() -> None:
    """What a box multiplies is the engine's load; the engine is not to blame for being busy."""
    several = Observation("edge", "request-copies", "several", 3, 4)
    found = list(copies_at_engines([several], DEPLOYMENT))
    assert [(o.hop, o.value, o.times) for o in found] == [("engine", "several", 3)]
    assert list(copies_at_engines([replace(several, value="one")], DEPLOYMENT)) == []


def test_copies_are_doubted_while_other_clients_ask_the_same_box() -> None:
    """Their requests go on as well, and look like copies of ours."""
    inner = "127.0.0.1:8081"
    copies = [onward(1000, 0, inner), onward(1000, 0, inner, port=7001)]
    other = {
        "up": False, "peer": None, "local_port": 8080, "peer_port": 6000, "state": "ESTABLISHED",
        "sent_bytes": 0, "received_bytes": 900, "accepted": True,
    }  # fmt: skip
    alone, crowded = judged(copies), judged([*copies, other])
    assert alone is not None
    assert crowded is not None
    assert (alone.copies, alone.crowded) == (2, False)
    assert crowded.crowded


PAIR = """\
[deployment]
model = "m"
[[hop]]
name = "edge"
role = "router"
url = "http://127.0.0.1:8080"
[[hop]]
name = "prefill"
role = "prefill"
url = "http://127.0.0.1:8081"
[[hop]]
name = "decode"
role = "decode"
url = "http://127.0.0.1:8082"
"""


def test_the_engine_of_a_pair_that_answered_is_told_from_the_one_that_did_not() -> None:
    """By the connections to each; an engine by itself is asked in other ways."""
    deployment = parse_deployment(PAIR, path="test", folder="/")

    def leg(name: str, port: int, answer: int) -> str | None:
        row = {
            "up": False, "peer": None, "local_port": port, "peer_port": 7000, "accepted": True,
            "state": "ESTABLISHED", "received_bytes": 1100, "sent_bytes": answer,
        }  # fmt: skip
        seen = facts(readings(name, [row], process=True))
        hop = next(hop for hop in deployment.hops if hop.name == name)
        found = leg_answered(hop, seen, deployment, seen.sessions)
        return None if found is None else found.value

    assert leg("prefill", 8081, answer=300) == "yes"
    assert leg("decode", 8082, answer=0) == "no"
    assert leg("edge", 8080, answer=300) is None


def test_where_the_hop_s_own_end_would_not_show_its_absence_says_nothing() -> None:
    """The hop is on another host: what the next one did not get may be lost on the way."""

    def seen(edge: str, inner: str) -> Passage | None:
        def row(hop: str, port: int) -> dict[str, Any]:
            ends = (port, 5001) if hop == "here" else (5001, port)
            return {
                "up": False, "peer": None, "local_port": ends[0], "peer_port": ends[1],
                "state": "ESTABLISHED", "received_bytes": 0, "sent_bytes": 0, "accepted": True,
            }  # fmt: skip

        samples = readings("edge", [row(edge, 8080)], process=False)
        samples += readings("inner", [row(inner, 8081)], process=False)
        found = facts(samples)
        own = found.sessions[0]
        return passage(found, own, own.rounds[0], EDGE, DEPLOYMENT)

    assert seen("elsewhere", "elsewhere") is None
    assert seen("here", "elsewhere") == Passage("no")
    assert seen("elsewhere", "here") is None
