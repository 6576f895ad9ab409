"""Which axis is varied next."""

from tests.support.world import OK, SILENT, World, judgement_after

from exonerate.core.diagnosis.axes.choice import failing_entry, next_inquiry


def test_nothing_is_varied_where_nothing_failed() -> None:
    """A clean path has no symptom that could flip."""
    judgement = judgement_after(World(lambda _: OK))
    assert next_inquiry(judgement, 100.0) is None


def test_an_axis_that_costs_more_than_is_left_is_not_varied() -> None:
    """A verdict never waits for it."""
    world = World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 4 else OK)
    assert next_inquiry(judgement_after(world), 1.0) is None


def test_the_innermost_entry_that_fails_is_where_things_are_varied() -> None:
    """Fewer hops are passed there, so fewer can be the reason."""
    world = World(lambda a: SILENT if a.hop != "engine" and a.on_connection == 3 else OK)
    entry = failing_entry(judgement_after(world))
    assert entry is not None
    assert entry.name == "inner"
