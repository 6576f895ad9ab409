"""Lines of a real Caddy 2.11: its access log and what its proxy says."""

from pathlib import Path

from exonerate.core.diagnosis.logs.caddy import parse_caddy
from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.matching import folded

LINES = (Path(__file__).parents[3] / "data" / "logs" / "caddy.log").read_text().splitlines()


def about(number: int) -> LogEntry:
    """Everything that the log says of one request."""
    told = [one for line in LINES if (one := parse_caddy(line)) is not None]
    return folded(one for one in told if one.request_id == f"exonerate-{number:016x}")


def test_its_lines_together_say_who_ended_it() -> None:
    """Whole, silent in the middle, before the head, the client left twice, cut, refused, a 400."""
    ends = [about(number).end for number in range(1, 9)]
    assert ends == ["---", "sZD", "sZH", "cFD", "cFH", "sFD", "sXK", "sXH"]


def test_a_proxy_without_anybody_to_ask_sends_nothing() -> None:
    """After two failures Caddy leaves its only upstream out."""
    entry = about(11)
    assert (entry.status, entry.dialled, entry.no_worker, entry.end) == (503, False, True, "hXQ")


def test_one_round_trip_is_one_try() -> None:
    """The access line and the error line about it add none."""
    assert about(1).attempts == 1
    assert about(2).upstream is not None
