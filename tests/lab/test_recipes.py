"""What can be wrong with a hop, as settings of the faulty proxy."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from exonerate.lab import recipes
from exonerate.lab.faulty_proxy.parse import parse_behaviour
from exonerate.lab.recipes import Recipe

MAKERS = [
    recipes.swallow,
    recipes.stall,
    recipes.refuse,
    recipes.reset,
    recipes.total_timer,
    recipes.idle_timer,
    recipes.periodic,
    recipes.buffering,
    recipes.corruption,
    recipes.multiplication,
    recipes.cancel_kept,
    recipes.stale_pool,
]


@pytest.mark.parametrize("make", MAKERS)
def test_each_draw_makes_the_hop_misbehave(make: Callable[[random.Random], Recipe]) -> None:
    """Whatever is drawn is a behaviour that is not neutral, with a class and a hop to name."""
    for seed in range(20):
        recipe = make(random.Random(seed))
        behaviour = parse_behaviour(recipe.hop)
        assert behaviour.rules or behaviour.upstream.stale != "retry"
        assert recipe.classes
        assert recipe.place in ("hop", "hop and engine")


def test_numbers_vary() -> None:
    """Two seeds give other thresholds."""
    titles = {recipes.refuse(random.Random(seed)).title for seed in range(8)}
    assert len(titles) > 4
