"""How long the next scene is idle, read from what went well and what did not."""

from tests.support.world import OK, SILENT, Answer, Asked, World, locate_in


def idles(limit_s: float) -> list[float]:
    """The idle times that sessions at the edge were given where longer ones fail."""
    seen: list[float] = []
    world = World(lambda a: SILENT if a.hop == "edge" and a.idle_s > limit_s else OK)
    plain = world.rule

    def noted(asked: Asked) -> Answer:
        if asked.session.name == "victim@edge":
            seen.append(asked.session.think_s)
        return plain(asked)

    world.rule = noted
    locate_in(world)
    return seen


def test_the_border_between_idle_times_is_narrowed() -> None:
    """Between what passed and what did not, something in the middle is tried."""
    tried = sorted(set(idles(0.3)))
    assert any(0.2 < idle < 0.4 for idle in tried)


def test_idle_times_vary_where_nothing_fails() -> None:
    """A count of requests and an age would not come apart otherwise."""
    assert len(set(idles(9.0))) > 1
