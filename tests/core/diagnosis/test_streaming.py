"""Shapes of streams, and answers that somebody ends too early."""

from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in

from exonerate.core.diagnosis.facts import Round
from exonerate.core.diagnosis.streaming import steady_share
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

WHOLE, SHORT = Answer(text="all that was to be said"), Answer(text="all that")


@pytest.mark.parametrize("guilty", ["edge", "inner"])
def test_a_box_that_makes_up_an_ending_is_named_and_not_the_one_before_it(guilty: str) -> None:
    """Every answer looks complete; only the same question past the box says that it is not."""
    passing = ("edge",) if guilty == "edge" else ("edge", "inner")

    def rule(asked: Asked) -> Answer:
        return SHORT if asked.hop in passing else WHOLE

    answer: Any = locate_in(World(rule))
    assert [(f["class"], f["hops"]) for f in answer["faults"]] == [("corruption", [guilty])]


def test_an_answer_that_ends_early_is_no_burst() -> None:
    """It has fewer tokens, in as much time for each."""

    def rule(asked: Asked) -> Answer:
        early = asked.hop == "edge"
        return Answer(spread_s=0.06 if early else 0.6, text="short" if early else "long")

    answer: Any = locate_in(World(rule))
    assert "buffering" not in [fault["class"] for fault in answer["faults"]]


def arriving(*arrivals_ms: float) -> Round:
    """A whole answer whose tokens arrive at these times."""
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0.0, idle_s=0.0, local_port=1)
    exchange = Exchange(
        session="victim@edge",
        hop="edge",
        round=1,
        connection=connection,
        request_bytes=100,
        begun_ns=0,
        first_byte_ns=1,
        first_token_ns=1,
        ended_ns=2_000_000_000,
        arrivals_ms=arrivals_ms,
        end="hFE",
    )
    return Round(exchange, "ok")


def test_a_box_that_is_late_once_with_the_head_of_an_answer_does_not_merge_tokens() -> None:
    """What came meanwhile comes together; everything after it comes as it was made."""
    start = [200.0 + number / 10 for number in range(10)]
    assert steady_share(arriving(*start, *range(220, 420, 20))) == 1.0


def test_a_box_that_merges_does_so_to_the_end() -> None:
    """Every fifth of a second a clump, the later ones as the first."""
    clumps = [200.0 * clump + number / 10 for clump in (1, 2, 3) for number in range(8)]
    assert steady_share(arriving(*clumps)) < 0.2


def test_a_box_that_makes_answers_unreadable_is_named_though_each_ends_as_it_should() -> None:
    """It changes names inside the events, say: no word is left; the stream is in order."""

    def rule(asked: Asked) -> Answer:
        return Answer(unreadable=True) if asked.hop == "edge" else WHOLE

    answer: Any = locate_in(World(rule))
    assert [(f["class"], f["hops"]) for f in answer["faults"]] == [("corruption", ["edge"])]


def test_a_victim_that_is_quicker_alone_comes_in_no_burst() -> None:
    """What it is compared with shared the engine with it, and was slow for that."""

    def rule(asked: Asked) -> Answer:
        return Answer(spread_s=1.2 if asked.together > 1 else 0.1)

    answer: Any = locate_in(World(rule), symptom="hang")
    assert answer["outcome"] == "no_fault", answer["paragraph"]
