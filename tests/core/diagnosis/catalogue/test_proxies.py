"""Boxes that look alike from outside, told apart by what their sockets did."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, PATH, SILENT, World, locate_in

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.catalogue.registry import suspects_of
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.posterior import rate
from exonerate.core.diagnosis.suspect import Observation

ROUTED = """\
[deployment]
model = "m"
[[hop]]
name = "router"
role = "router"
url = "http://127.0.0.1:8080"
[[hop]]
name = "worker"
role = "engine"
url = "http://127.0.0.1:8000"
"""
SILENT_ROUTER = {
    "through": "hang", "beyond": "ok", "fails-at": "varying", "fresh-meanwhile": "ok",
    "beyond-meanwhile": "ok", "engine-meanwhile": "idle", "request-read": "read",
    "ended-by": "us", "phase": "before-head", "delivered": "acked", "onward-delivered": "acked",
    "pool": "sound", "next-idle": "stays-open", "idle-dependence": "unrelated",
}  # fmt: skip
"""What is seen of a router whose requests never come back."""


def most_believable(**seen: str) -> str:
    """The class at the top, where this is seen of the router besides."""
    values = SILENT_ROUTER | {name.replace("_", "-"): value for name, value in seen.items()}
    deployment = parse_deployment(ROUTED, path="test", folder="/")
    found = [Observation("router", name, value, 6, 6) for name, value in values.items()]
    ratings, _ = rate(suspects_of(deployment), found)
    assert ratings[0].posterior > 0.95
    return ratings[0].suspect.suspect_class.slug


def test_a_request_that_went_somewhere_else_was_not_dropped() -> None:
    """It left, to an address that is no hop: a worker that does not answer."""
    assert most_believable(left_to="elsewhere", request_copies="one") == "sick-worker"


def test_a_request_that_never_left_was_dropped() -> None:
    """The router has it still."""
    assert most_believable(request_left="no") == "drops-requests"


def test_where_more_requests_wait_than_there_are_clients_all_is_not_well() -> None:
    """Every entry is as slow as the others, and the engine works for nobody."""
    seen = {"through": "ok", "beyond": "ok", "complaint": "slow", "request-copies": "several"}
    deployment = parse_deployment(ROUTED, path="test", folder="/")

    def healthy(requests: str) -> float:
        values = {**seen, "requests-behind": requests}
        found = [Observation("router", name, value, 3, 3) for name, value in values.items()]
        ratings, _ = rate(suspects_of(deployment), found)
        return next(r.posterior for r in ratings if r.suspect.suspect_class.slug == "healthy")

    assert healthy("more") == 0.0
    assert healthy("as-many") > 0.0


def test_a_request_that_nobody_acknowledged_behind_the_router_was_lost_on_the_way() -> None:
    """The router sent it, again and again; what makes it pass tells what loses it."""
    seen = {"request_left": "no", "onward_delivered": "unacked"}
    idle = {"idle_flip": "flips", "idle_dependence": "longer-fails"}
    assert most_believable(**seen, **idle) == "silent-drop"
    assert most_believable(**seen, size_flip="flips") == "mtu-black-hole"


def test_an_answer_that_came_back_to_the_box_and_went_no_further_was_kept() -> None:
    """The engine is done and idle; the network on the way back is ruled out by keep-alive."""
    seen = {"request_left": "answered", "left_to": "next", "request_copies": "one"}
    assert most_believable(**seen, keepalive_flip="same") == "drops-requests"
    busy = {"engine_meanwhile": "progressing", "through": "burst", "answer_held": "yes"}
    assert most_believable(**seen, **busy) == "buffering"


def test_a_box_that_keeps_answers_is_found_by_its_log() -> None:
    """Every request was sent on and answered; only those past it reach the client."""
    world = World(
        lambda asked: SILENT if asked.hop == "edge" and asked.on_connection == 3 else OK,
        sockets_visible=False,
        log=lambda e: LogEntry(
            program="nginx", request_id=e.request_id, dialled=True, attempts=1, upstream_bytes=400
        ),
    )
    edge, *others = world.deployment.hops
    world.deployment = replace(world.deployment, hops=(replace(edge, log="access.log"), *others))
    answer: Any = locate_in(world, symptom="hang")
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge"])
    assert "keeps the answer" in str(answer)


@pytest.mark.parametrize(
    ("role", "spoken", "named"),
    [("router", False, "breaker-open"), ("proxy", True, "request-refused")],
)
def test_a_quick_503_is_a_router_s_breaker_or_a_proxy_s_own_limit(
    role: str, spoken: bool, named: str
) -> None:
    """Neither sends the request on, and past both it is answered."""
    path = PATH.replace('role = "proxy"', f'role = "{role}"', 1)
    seen = {
        "through": "server-error", "beyond": "ok", "fails-at": "first-request",
        "request-left": "no", "ended-by": "hop", "phase": "before-token",
        "ended-after": "at-once", "error-said": "unavailable",
        **({"spoken-by": "hop"} if spoken else {}),
    }  # fmt: skip
    observed = [Observation("edge", name, value, 6, 6) for name, value in seen.items()]
    ratings, _ = rate(suspects_of(parse_deployment(path, path="test", folder="/")), observed)
    assert (ratings[0].suspect.suspect_class.slug, ratings[0].suspect.hop) == (named, "edge")
    assert ratings[0].posterior > 0.95


def test_a_box_that_keeps_the_rest_of_an_answer_is_named() -> None:
    """Tokens came and then none; past the box the same answer is whole. It is no clock's doing.

    One face was seen here, so that what lies between the two boxes is named.
    """
    stalls = replace(OK, stalls=True)
    answer: Any = locate_in(
        World(
            lambda a: stalls if a.hop == "edge" and a.on_connection == 2 else OK,
            sockets_visible=False,
        ),
        symptom="hang",
    )
    (fault,) = answer["faults"]
    assert (fault["class"], fault["hops"]) == ("drops-requests", ["edge", "inner"])
    assert "keeps the rest" in answer["paragraph"]


def test_an_engine_that_stops_in_the_middle_is_not_the_boxs_fault() -> None:
    """Past the box the same answers stop as well."""
    stalls = replace(OK, stalls=True)
    answer: Any = locate_in(World(lambda a: stalls if a.on_connection == 2 else OK))
    assert not [fault for fault in answer["faults"] if fault["hops"] != ["engine"]]


@pytest.mark.parametrize(
    ("past", "slug"), [("no-connect", "engine-restart"), ("ok", "breaker-open")]
)
def test_a_router_that_takes_a_dead_worker_out_is_right(past: str, slug: str) -> None:
    """It says 503 as one does whose worker is well; whether anybody listens there tells."""
    deployment = parse_deployment(ROUTED, path="test", folder="/")
    down = past == "no-connect"
    at_router = {
        "through": "server-error", "beyond": past, "fails-at": "first-request",
        "request-left": "no", "ended-by": "hop", "ended-after": "at-once",
        "error-said": "unavailable", "spoken-by": "hop",
    }  # fmt: skip
    at_worker = {"through": "mixed", "ended-by": "hop", "engine-process": "down"} if down else {}
    found = [Observation("router", name, value, 6, 6) for name, value in at_router.items()]
    found += [Observation("worker", name, value, 6, 6) for name, value in at_worker.items()]
    ratings, _ = rate(suspects_of(deployment), found)
    assert ratings[0].suspect.suspect_class.slug == slug
    assert ratings[0].posterior > 0.95
