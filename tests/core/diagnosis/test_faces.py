"""A whole run in a simulated world without sockets: what the log adds to the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.world import NS, OK, PATH, Answer, Asked, World, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.faces import request_copies
from exonerate.core.diagnosis.facts import (
    Facts,
    Outcome,
    Round,
    Session,
    SocketSample,
    read_facts,
)
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.json_access import at
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import ProbeSession, PromptRecipe, RequestRecipe
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

LOGGED = PATH.replace('role = "proxy"', 'role = "proxy"\nlog = "edge.log"', 1)
SILENT = Answer(silent=True)


def swallows(asked: Asked) -> Answer:
    """The edge swallows the third request of a connection."""
    return SILENT if asked.hop == "edge" and asked.on_connection == 3 else OK


def honest(exchange: Exchange) -> LogEntry:
    """A log that says what the edge did with each request."""
    kept = exchange.given_up != "no"
    return LogEntry(
        program="nginx", request_id=exchange.request_id, dialled=not kept,
        attempts=0 if kept else 1, upstream_bytes=None if kept else 900,
    )  # fmt: skip


def world(*, logged: bool) -> World:
    """The path without any socket in sight."""
    return World(
        rule=swallows,
        deployment=parse_deployment(LOGGED if logged else PATH, path="test", folder="/"),
        sockets_visible=False,
        log=honest if logged else None,
    )


@pytest.mark.parametrize(("logged", "place"), [(True, ["edge"]), (False, ["edge", "inner"])])
def test_with_both_faces_in_the_log_the_box_is_named(logged: bool, place: list[str]) -> None:
    """Without it the verdict stays between the hop and the next one."""
    answer = locate_in(world(logged=logged))
    assert at(answer, "faults", 0, "class") == "drops-requests"
    assert at(answer, "faults", 0, "hops") == place


def queued(copies: int, outcome: Outcome) -> Facts:
    """A request at the edge that went on over so many connections, none of them answered yet."""
    deployment = parse_deployment(PATH, path="test", folder="/")
    request = RequestRecipe(
        path="/v1/x", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=9), max_tokens=4
    )
    plan = ProbeSession(
        name="victim@edge", hop="edge", url=deployment.hops[0].url, request=request, rounds=1,
        connection="reuse", think_s=0.0, deadline_s=9.0,
    )  # fmt: skip
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=5001)
    exchange = Exchange(
        session=plan.name, hop="edge", round=1, connection=connection, request_bytes=1000,
        begun_ns=NS, ended_ns=4 * NS,
    )  # fmt: skip
    rows: list[JsonObject] = [
        {
            "up": True, "peer": "127.0.0.1:8081", "local_port": 7000 + n, "peer_port": 8081,
            "state": "ESTABLISHED", "sent_bytes": 1000, "received_bytes": 0, "accepted": True,
        }
        for n in range(copies)
    ]  # fmt: skip
    client: JsonObject = {
        "up": False, "peer": None, "local_port": 8080, "peer_port": 5001, "accepted": True,
        "state": "ESTABLISHED", "sent_bytes": 0, "received_bytes": 1000,
    }  # fmt: skip
    samples = [SocketSample("s", "edge", NS // 2, (), process_seen=True)]
    samples += [
        SocketSample("s", "edge", NS + n * NS // 5, (client, *rows), process_seen=True)
        for n in range(1, 14)
    ]
    session = Session("s", plan, (Round(exchange, outcome),), None)
    return replace(
        read_facts(()), sessions=(session,), sockets={("s", "edge"): tuple(samples)},
        own_ports=frozenset({5001}), ended_ns=4 * NS,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("copies", "outcome", "value"),
    [(3, "ok", "several"), (3, "slow", "several"), (1, "slow", "one"), (1, "ok", None)],
)
def test_copies_count_in_rounds_that_went_well_where_requests_wait_for_nobody(
    copies: int, outcome: Outcome, value: str | None
) -> None:
    """Where all are late alike, nobody is late by comparison; a box at rest is not asked."""
    deployment = parse_deployment(PATH, path="test", folder="/")
    facts = queued(copies, outcome)
    found = request_copies(deployment.hops[0], facts, deployment, facts.sessions)
    assert (found.value if found else None) == value


@pytest.mark.parametrize(("visible", "layer"), [(True, "proxy"), (False, "boundary")])
def test_sockets_of_nobody_in_particular_leave_the_verdict_between_two_hops(
    visible: bool, layer: str
) -> None:
    """Whether the box itself talks to the next hop, or another one, must have been seen."""
    path = World(swallows, processes_visible=visible)
    answer = locate_in(path, symptom="hang")
    assert at(answer, "faults", 0, "layer") == layer
