"""How many requests there were, and how many of them at a time."""

import pytest
from tests.support.world import OK, SILENT, World, locate_in

from exonerate.core.diagnosis.facts import Round
from exonerate.core.diagnosis.sent import most_at_once
from exonerate.core.wire.exchange import ConnectionFacts, Exchange


def asked(begun_ns: int, ended_ns: int) -> Round:
    """A request that was under way for so long."""
    connection = ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=1)
    exchange = Exchange(
        session="s", hop="edge", round=1, connection=connection, request_bytes=1,
        begun_ns=begun_ns, ended_ns=ended_ns,
    )  # fmt: skip
    return Round(exchange, "ok")


@pytest.mark.parametrize(
    ("spans", "most"),
    [
        ([], 0),
        ([(0, 9)], 1),
        ([(0, 5), (5, 9)], 1),
        ([(0, 6), (5, 9)], 2),
        ([(0, 9), (1, 2), (3, 4)], 2),
        ([(0, 9), (1, 4), (3, 5)], 3),
    ],
)
def test_the_most_at_a_time(spans: list[tuple[int, int]], most: int) -> None:
    """One that ends as another begins is not beside it."""
    assert most_at_once([asked(*span) for span in spans]) == most


def test_a_verdict_says_how_much_was_asked_of_each_hop() -> None:
    """While the victim's request waits, one more is asked there."""
    well = locate_in(World(lambda _: OK))
    assert well["requests_at_once"] == {"edge": 1, "inner": 1, "engine": 1}
    hung = locate_in(World(lambda a: SILENT if a.hop == "edge" and a.on_connection == 3 else OK))
    at_once = hung["requests_at_once"]
    assert isinstance(at_once, dict)
    assert at_once["edge"] == 2
    assert isinstance(hung["requests_sent"], int)
