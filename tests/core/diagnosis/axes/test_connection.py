"""The axes of the connection."""

from dataclasses import replace

from tests.support.world import OK, World, judgement_after

from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.connection import AXES
from exonerate.core.diagnosis.inquiries import next_shape, victim_session


def test_what_the_victim_does_already_is_not_varied() -> None:
    """Fresh connections cannot become fresher, no idle time cannot become shorter."""
    world = World(lambda _: OK)
    facts = judgement_after(world).facts
    shape = next_shape(facts, world.deployment, None)
    plain = victim_session(world.deployment, hop_named(world.deployment, "edge"), shape, 1)
    fresh = replace(plain, connection="fresh", think_s=0.0)
    axes = {axis.slug: axis for axis in AXES}
    assert axes["fresh"].vary(fresh, facts, world.deployment) is None
    assert axes["idle"].vary(fresh, facts, world.deployment) is None
    shorter = axes["idle"].vary(plain, facts, world.deployment)
    assert shorter is not None
    assert shorter.think_s < plain.think_s


def test_what_comes_before_a_request_is_not_varied_for_the_first_one() -> None:
    """A first request has no idle time before it, and is on a new connection anyhow."""
    world = World(lambda _: OK)
    facts = judgement_after(world).facts
    shape = next_shape(facts, world.deployment, None)
    plain = victim_session(world.deployment, hop_named(world.deployment, "edge"), shape, 1)
    one = replace(plain, rounds=1)
    axes = {axis.slug: axis for axis in AXES}
    assert [axes[slug].vary(one, facts, world.deployment) for slug in ("idle", "fresh")] == [
        None
    ] * 2


def test_a_long_silence_is_cut_to_one_that_nothing_forgets() -> None:
    """A fifth of an hour would still be longer than any timer."""
    world = World(lambda _: OK)
    facts = judgement_after(world).facts
    shape = next_shape(facts, world.deployment, None)
    plain = victim_session(world.deployment, hop_named(world.deployment, "edge"), shape, 1)
    axes = {axis.slug: axis for axis in AXES}
    shorter = axes["idle"].vary(replace(plain, think_s=3600.0), facts, world.deployment)
    assert shorter is not None
    assert shorter.think_s == 1.0
