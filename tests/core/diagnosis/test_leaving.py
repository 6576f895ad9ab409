"""What became of our own request behind a hop after we had left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.facts import Facts, Round, Session, SocketSample
from exonerate.core.diagnosis.leaving import leaving, surplus, without_borrowed_copies
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

NS = 1_000_000_000
DEPLOYMENT = parse_deployment(PATH, path="test", folder="/")
EDGE, INNER, ENGINE = DEPLOYMENT.hops
REQUEST_BYTES = 1000
Row = dict[str, Any]


def abort(hop: str) -> Session:
    """An abort probe whose only round was left after a second."""
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=600
    )
    plan = ProbeSession(
        name=f"abort@{hop}", hop=hop, url="http://127.0.0.1:1", request=request, rounds=1,
        connection="fresh", think_s=0.0, deadline_s=1.0,
    )  # fmt: skip
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=5)
    exchange = Exchange(
        session=plan.name, hop=hop, round=1, connection=connection, request_bytes=REQUEST_BYTES,
        begun_ns=NS, connected_ns=NS, ended_ns=2 * NS, given_up="deadline",
    )  # fmt: skip
    return Session("s", plan, (Round(exchange, "hang"),), None)


def onward(port: int, sent: int, received: int = 0, peer: int = 8081) -> Row:
    """A socket of the hop's process that leads onwards."""
    return {
        "up": True, "local_port": port, "state": "ESTABLISHED", "sent_bytes": sent,
        "received_bytes": received, "peer": f"127.0.0.1:{peer}",
    }  # fmt: skip


def orphans_of(hop: str) -> list[tuple[float, list[Row]]]:
    """Before we left: a request waits behind the box, and no client is connected to it."""
    peer = {"edge": 8081, "inner": 8000}[hop]
    return [(0.1 * number, [onward(3, 400, peer=peer)]) for number in range(1, 5)]


def observed(
    hop: str,
    rows_at: Sequence[tuple[float, list[Row]]],
    *,
    of: str = "",
    orphans: bool = True,
) -> str | None:
    """What is observed of a hop whose onward sockets are these at these seconds."""
    samples = tuple(
        SocketSample("s", hop, int(at_s * NS), tuple(rows), True, ("1:1",))
        for at_s, rows in [*(orphans_of(hop) if orphans else []), *rows_at]
    )
    facts = Facts(
        scenes=(), sessions=(abort(hop),), counters=(), sockets={("s", hop): samples},
        own_ports=frozenset({5}), began_ns=0, ended_ns=9 * NS,
    )  # fmt: skip
    asked = next(h for h in DEPLOYMENT.hops if h.name == (of or hop))
    seen = leaving(asked, facts, DEPLOYMENT)
    return None if seen is None else seen.value


KEPT = [(0.9, []), (1.3, [onward(7, 1000)]), (3.0, [onward(7, 1000)]), (3.5, [onward(7, 1000)])]
GONE: list[tuple[float, list[Row]]] = [
    (0.9, []),
    (1.3, [onward(7, 1000)]),
    (3.0, []),
    (3.5, []),
]


@pytest.mark.parametrize(("rows", "value"), [(KEPT, "kept"), (GONE, "passed-on")])
def test_the_socket_that_carried_our_request_tells_whether_the_leaving_was_passed_on(
    rows: list[tuple[float, list[Row]]], value: str
) -> None:
    """It still stands a second later, or it does not."""
    assert observed("edge", rows) == value


def test_the_requests_of_other_clients_are_not_taken_for_ours() -> None:
    """Two sockets carried about as much: which one was ours cannot be told."""
    both = [onward(7, 1000), onward(8, 1100)]
    assert observed("edge", [(0.9, []), (1.3, both), (3.0, both), (3.5, both)]) is None
    large = [onward(7, 1000), onward(8, 9000)]
    assert observed("edge", [(0.9, []), (1.3, large), (3.0, large), (3.5, large)]) == "kept"


def test_a_pooled_connection_counts_as_kept_only_while_its_answer_goes_on() -> None:
    """It may stand for another request by now."""
    before, sent = [onward(7, 500, 300)], [onward(7, 1500, 300)]
    assert observed("edge", [(0.9, before), (1.3, sent), (3.0, sent), (3.5, sent)]) is None
    later = [onward(7, 1500, 400)]
    assert observed("edge", [(0.9, before), (1.3, sent), (3.0, sent), (3.5, later)]) == "kept"


def test_the_engine_is_told_what_the_boxes_before_it_keep() -> None:
    """Work for clients that have left is not the engine's own doing then."""
    assert observed("inner", KEPT, of="engine") == "kept-before"
    assert observed("inner", GONE, of="engine") is None


def test_a_request_that_came_from_further_out_tells_of_a_box_when_the_others_passed_it_on() -> None:
    """The outermost box that keeps it is the one; what lies past it was never told."""

    def seen(edge: list[tuple[float, list[Row]]], inner: list[tuple[float, list[Row]]]) -> object:
        sockets = {
            ("s", hop): tuple(
                SocketSample("s", hop, int(at_s * NS), tuple(rows), True, ("1:1",))
                for at_s, rows in [*orphans_of(hop), *rows_at]
            )
            for hop, rows_at in (("edge", edge), ("inner", inner))
        }
        facts = Facts(
            scenes=(), sessions=(abort("edge"),), counters=(), sockets=sockets,
            own_ports=frozenset({5}), began_ns=0, ended_ns=9 * NS,
        )  # fmt: skip
        found = [leaving(hop, facts, DEPLOYMENT) for hop in (EDGE, INNER, ENGINE)]
        return [o and o.value for o in found]

    assert seen(KEPT, KEPT) == ["kept", "kept-before", "kept-before"]
    assert seen(GONE, KEPT) == ["passed-on", "kept", "kept-before"]
    assert seen(GONE, GONE) == ["passed-on", "passed-on", "passed-on"]


def test_a_box_that_keeps_what_nobody_leaves_is_not_blamed() -> None:
    """No client but our own probe has left it anything."""
    assert observed("edge", KEPT, orphans=False) == "kept-without-harm"
    assert observed("inner", KEPT, of="engine", orphans=False) is None


def behind(rows: list[Row], *, url: str = "http://127.0.0.1:8080") -> str | None:
    """What is said of the requests behind an edge with these sockets."""
    samples = tuple(SocketSample("s", "edge", at, tuple(rows), True, ("1:1",)) for at in range(5))
    facts = Facts(
        scenes=(), sessions=(), counters=(), sockets={("s", "edge"): samples},
        own_ports=frozenset(), began_ns=0, ended_ns=9 * NS,
    )  # fmt: skip
    seen = surplus(replace(EDGE, url=url), facts, DEPLOYMENT)
    return None if seen is None else seen.value


def test_more_requests_behind_a_box_than_clients_before_it_are_counted() -> None:
    """Answered ones do not wait, and what may be a client at another port is taken for one."""
    client: Row = {
        "up": False, "local_port": 8080, "peer_port": 5, "state": "ESTABLISHED", "sent_bytes": 0,
        "received_bytes": 9,
    }  # fmt: skip
    waits, answered = onward(7, 900), onward(8, 900, 5)
    assert behind([client, waits]) == "as-many"
    assert behind([client, waits, onward(9, 900)]) == "more"
    assert behind([client, waits, answered]) == "as-many"
    assert behind([client, waits, onward(9, 900), onward(10, 50, 50, peer=41000)]) == "as-many"
    assert behind([client, answered]) is None
    assert behind([client, waits, onward(9, 900)], url="https://127.0.0.1:8080") is None


def test_other_clients_connections_are_no_copies_of_our_request() -> None:
    """Where never more requests waited behind a hop than it had clients, nothing was sent twice."""
    several = Observation("edge", "request-copies", "several", 2, 2)
    for value, left in (("as-many", 1), ("more", 2)):
        behind = Observation("edge", "requests-behind", value, 40, 40)
        assert len(without_borrowed_copies([several, behind])) == left
