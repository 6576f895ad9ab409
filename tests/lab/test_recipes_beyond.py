"""What can be wrong elsewhere than in a hop, and what is odd and innocent."""

from __future__ import annotations

import random

from exonerate.lab import recipes_beyond
from exonerate.lab.faulty_client import FAULTS
from exonerate.lab.faulty_proxy.parse import parse_behaviour
from exonerate.lab.scripted_engine.script import parse_script

SEEDS = range(30)


def test_an_engine_at_fault_has_a_fault_in_its_script() -> None:
    """Each draw is a script with one fault, or with slots that leak."""
    for seed in SEEDS:
        script = parse_script(recipes_beyond.engine_fault(random.Random(seed)).engine)
        assert len(script.faults) == 1
        leaky = recipes_beyond.slot_leak(random.Random(seed))
        assert parse_script(leaky.engine).leak_slot_on_abort


def test_a_client_at_fault_is_a_program_that_there_is() -> None:
    """The fault that its options name is one that the faulty client has."""
    for seed in SEEDS:
        recipe = recipes_beyond.client_fault(random.Random(seed))
        assert recipe.client is not None
        options = recipe.client["options"]
        assert isinstance(options, list)
        assert options[options.index("--fault") + 1] in FAULTS


def test_descriptors_run_out_at_the_hop_or_at_the_engine() -> None:
    """Both happen, and the idle connections go where the limit is."""
    found = [recipes_beyond.descriptors(random.Random(seed)) for seed in SEEDS]
    assert {recipe.place for recipe in found} == {"hop", "engine"}
    for recipe in found:
        assert recipe.background is not None
        assert recipe.background["at"] == recipe.place.upper()


def test_the_innocent_are_odd_and_nobody_is_named() -> None:
    """No draw has a class to find, and hops keep to what HTTP allows."""
    for seed in SEEDS:
        recipe = recipes_beyond.healthy(random.Random(seed))
        assert (recipe.place, list(recipe.classes)) == ("nobody", [])
        assert not parse_behaviour(recipe.hop).rules
