"""Who speaks in an error answer, and what that means for the box that it came through."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, Answer, Asked, World, judgement_after, locate_in

AT_ENGINE = (("server", "llama.cpp"), ("content-type", "text/event-stream"))
GOOD = replace(OK, headers=AT_ENGINE)
GOOD_BY_NGINX = replace(OK, headers=(("server", "nginx/1.22.1"),))


def refused(server: str, kind: str) -> Answer:
    """A quick error answer with these headers."""
    headers = (("server", server), ("content-type", kind))
    return Answer(status=403, wait_s=0.01, spread_s=0.0, headers=headers)


def speaker(bad: Answer, good: Answer) -> str | None:
    """What is observed at the edge where every third request of a connection gets `bad`."""

    def rule(asked: Asked) -> Answer:
        if asked.hop != "edge":
            return GOOD
        return bad if asked.on_connection == 3 else good

    seen = judgement_after(World(rule)).observations
    return next((o.value for o in seen if o.hop == "edge" and o.observable == "spoken-by"), None)


@pytest.mark.parametrize(
    ("bad", "good", "expected"),
    [
        (refused("lab-proxy", "text/html"), GOOD, "hop"),
        (refused("waf", "application/json"), GOOD, "hop"),
        (refused("nginx/1.22.1", "text/html; charset=utf-8"), GOOD_BY_NGINX, "hop"),
        (refused("llama.cpp", "application/json"), GOOD, "engine"),
        (refused("nginx/1.22.1", "application/json"), GOOD_BY_NGINX, "engine"),
        (refused("uvicorn", "application/json"), replace(OK, headers=(("server", "uvicorn"),)),
         None),
    ],
)  # fmt: skip
def test_the_head_of_an_error_shows_who_wrote_it(
    bad: Answer, good: Answer, expected: str | None
) -> None:
    """Another name, or a page where the engine writes JSON; a shared framework shows nothing."""
    assert speaker(bad, good) == expected


def test_an_engines_own_refusal_that_is_passed_on_convicts_no_proxy() -> None:
    """Even where direct requests happen to go well: the words are the engine's."""
    own = refused("llama.cpp", "application/json")
    answer: Any = locate_in(
        World(lambda a: own if a.hop == "edge" and a.on_connection == 3 else GOOD)
    )
    assert answer["faults"] == []
    said: Any = locate_in(
        World(
            lambda a: (
                refused("waf", "text/html") if a.hop == "edge" and a.on_connection == 3 else GOOD
            )
        )
    )
    assert [fault["class"] for fault in said["faults"]] == ["request-refused"]
