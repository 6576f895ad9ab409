"""What it takes to be convicted, beyond being believed."""

from tests.support.world import OK, SILENT, Answer, Asked, Rule, World, judgement_after

from exonerate.core.diagnosis.conviction import certain, convicted, scope_known


def swallowing(asked: Asked) -> Answer:
    """The founding story: the third request on a connection to the edge gets no answer."""
    return SILENT if asked.hop == "edge" and asked.on_connection == 3 else OK


QUICK = Answer(wait_s=0.05, spread_s=0.02)
"""Small requests, and those that a cache knows, are answered sooner."""


def for_the_first(walks: int) -> Rule:
    """The same for the victim's sessions, and for so many of the walks that are taken."""

    def rule(asked: Asked) -> Answer:
        name = asked.session.name
        time = 2 if name.startswith("walk-number-2") else 1
        spared = name.startswith("walk-") and time > walks
        answer = OK if spared else swallowing(asked)
        quick = "walk" in name or asked.session.connection == "fresh"
        return QUICK if answer is OK and quick else answer

    return rule


def test_one_copy_of_the_victim_is_believed_and_convicts_nobody() -> None:
    """However well it fits: it may have been one bad moment."""
    judgement = judgement_after(World(for_the_first(0)))
    assert judgement.top_is("drops-requests")
    assert scope_known(judgement)
    assert not convicted(judgement)


def test_walks_that_fail_at_the_hop_alone_convict_it() -> None:
    """Three failures through it at three times, and none past it."""
    once = judgement_after(World(for_the_first(1)))
    assert certain(once)
    assert not convicted(once)
    assert convicted(judgement_after(World(for_the_first(2))))


def test_where_nothing_fails_nobody_is_convicted() -> None:
    """A path that answers."""
    assert not convicted(judgement_after(World(lambda _: OK)))
