"""What the engine did while a victim round waited, from its counters."""

import pytest
from tests.support.world import SILENT, Load, World, locate_in

from exonerate.core.json_types import JsonObject


def states(load: Load) -> set[str]:
    """What is observed of an engine under that load by victims that all hang."""
    answer: JsonObject = locate_in(World(lambda _: SILENT, load=load))
    found: set[str] = set()
    for row in answer["observations"]:  # type: ignore[union-attr]  # a list
        name, _, value = str(row["id"]).partition("=")  # type: ignore[index,call-overload]  # object
        if name == "engine-meanwhile@engine":
            found.add(value)
    return found


@pytest.mark.parametrize(
    ("load", "state"),
    [
        (Load(), "idle"),
        (Load(running=9, waiting=9), "stuck"),
        (Load(running=1, waiting=12, tokens_per_s=100), "queueing"),
    ],
)
def test_probes_that_hang_together_do_not_hide_the_engine_from_each_other(
    load: Load, state: str
) -> None:
    """Every entry hangs at the same time, and the counters still tell."""
    assert states(load) == {state}
