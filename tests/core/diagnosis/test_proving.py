"""Nobody is convicted before that was asked which only the suspected fault would hold up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import OK, SILENT, Answer, Asked, Load, World, locate_in

from exonerate.core.case.answers import objects_in


def stands_still(patience_s: float | None) -> Any:
    """The verdict on an engine that counts nothing while it reads, and answers a few words.

    `patience_s`: after how long; None where it never answers anything.
    """

    def rule(asked: Asked) -> Answer:
        few_words = asked.prompt_tokens <= 8
        if few_words and patience_s is not None:
            return Answer(wait_s=patience_s)
        return SILENT

    world = World(rule, load=Load(running=1))
    victim = replace(world.deployment.victim, deadline_s=6.0)
    world.deployment = replace(world.deployment, victim=victim)
    return locate_in(world, budget_s=90.0, symptom="hang")


def test_an_engine_that_answers_nothing_at_all_is_stuck() -> None:
    """Not even a few words, asked alone and with patience."""
    answer = stands_still(None)
    assert [f["class"] for f in answer["faults"]] == ["scheduler-stuck"]
    seen = {o["id"] for o in objects_in(answer, "observations")}
    assert "small-meanwhile@engine=fails" in seen


@pytest.mark.parametrize("patience_s", [0.2, 5.0, 15.0])
def test_an_engine_that_reads_long_prompts_in_silence_is_not_called_stuck(
    patience_s: float,
) -> None:
    """What it answers to a few words, however late, shows that it computes."""
    answer = stands_still(patience_s)
    assert answer["faults"] == []
    assert "raise `deadline_s` in `[victim]`" in answer["next"][0]


def test_a_box_that_refuses_all_copies_is_named_once_something_passes_it() -> None:
    """The victim's own text is refused, plain words are not."""
    deployment = World(lambda _: OK).deployment
    victim = replace(deployment.victim, request="body.json")

    def rule(asked: Asked) -> Answer:
        refused = asked.hop == "edge" and asked.session.request.body_ref is not None
        return Answer(status=403) if refused else OK

    world = World(rule, deployment=replace(deployment, victim=victim))
    answer: Any = locate_in(world, symptom="errors")
    assert [(f["class"], f["hops"][0]) for f in answer["faults"]] == [("request-refused", "edge")]
