"""Shapes of streams, and answers that somebody ends too early."""

from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in

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
