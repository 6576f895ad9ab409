"""Where corruption begins, walked between clean and corrupt."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.world import Answer, Asked, World, locate_in

GARBAGE = "zqx ## vvv 0x0 lkj @@ qqq wrp"


@pytest.mark.parametrize("limit", [2, 3, 6, 8])
def test_the_batch_is_found_between_alone_and_the_victim_s_own_crowd(limit: int) -> None:
    """Clean up to one size, corrupt from the next."""
    world = World(
        lambda a: Answer(text=GARBAGE if a.together >= limit else f"{a.code_word} all is well")
    )
    victim = replace(world.deployment.victim, concurrency=8, rounds=2)
    world.deployment = replace(world.deployment, victim=victim)
    answer: Any = locate_in(world, symptom="corrupted")
    (fault,) = answer["faults"]
    assert fault["details"]["batch"] == {"clean_up_to": limit - 1, "corrupt_from": limit}


@pytest.mark.parametrize("limit", [210, 333, 440])
def test_the_length_is_found_between_two_rounds(limit: int) -> None:
    """A growing history steps over the limit; the walk comes back to it."""

    def rule(asked: Asked) -> Answer:
        short = asked.prompt_tokens <= limit
        return Answer(text=f"{asked.code_word} all is well on the hill" if short else "so " * 12)

    world = World(rule)
    victim = replace(world.deployment.victim, prompt_tokens=200, growth_tokens=70, rounds=5)
    world.deployment = replace(world.deployment, victim=victim)
    answer: Any = locate_in(world, symptom="corrupted")
    (fault,) = answer["faults"]
    edge = fault["details"]["prompt_tokens"]
    assert edge["clean_up_to"] <= limit < edge["corrupt_from"]
    assert edge["corrupt_from"] - edge["clean_up_to"] <= 10
