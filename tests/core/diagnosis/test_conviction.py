"""What it takes to be convicted, beyond being believed."""

from tests.support.world import OK, SILENT, Answer, Asked, World, judgement_after

from exonerate.core.diagnosis.axes.walks import next_walk, walk_scene
from exonerate.core.diagnosis.conviction import certain, convicted, scope_known
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import Scene


def swallowing(asked: Asked) -> Answer:
    """The founding story: the fourth request on a connection to the edge gets no answer."""
    return SILENT if asked.hop == "edge" and asked.on_connection == 4 else OK


def walk_in(world: World, facts: Facts) -> Scene:
    """A walk over the number of the request."""
    edge = world.deployment.hops[0]
    walk = next_walk(facts, world.deployment, edge, again=True)
    assert walk is not None
    return walk_scene(facts, world.deployment, edge, walk, seed=1, gentle=False)


def test_one_copy_of_the_victim_is_believed_and_convicts_nobody() -> None:
    """However well it fits: it may have been one bad moment."""
    judgement = judgement_after(World(swallowing))
    assert judgement.top_is("drops-requests")
    assert certain(judgement)
    assert scope_known(judgement)
    assert not convicted(judgement)


def test_walks_that_fail_at_the_hop_alone_convict_it() -> None:
    """Three failures through it in three scenes, and none past it."""
    world = World(swallowing)
    once = judgement_after(World(swallowing), lambda facts: walk_in(world, facts))
    twice = judgement_after(
        World(swallowing), lambda facts: walk_in(world, facts), lambda facts: walk_in(world, facts)
    )
    assert not convicted(once)
    assert convicted(twice)


def test_where_nothing_fails_nobody_is_convicted() -> None:
    """A path that answers."""
    assert not convicted(judgement_after(World(lambda _: OK)))
