"""A whole run in a simulated world without sockets: what the log adds to the verdict."""

from __future__ import annotations

import pytest
from tests.support.world import OK, PATH, Answer, Asked, World, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.json_access import at
from exonerate.core.wire.exchange import Exchange

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
