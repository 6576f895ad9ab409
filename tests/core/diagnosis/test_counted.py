"""What counters of a hop say of its breaker and of one request."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.core.diagnosis.test_logged import DEPLOYMENT, EDGE, ENGINE, ROUND, SESSION, facts

from exonerate.core.diagnosis.beside import Beside, PageSample
from exonerate.core.diagnosis.carried import Passage
from exonerate.core.diagnosis.counted import breaker, counted_passage, unread_pages
from exonerate.core.diagnosis.facts import CounterSample, Facts
from exonerate.core.diagnosis.logs.entry import LogEntry

NS = 1_000_000_000


def counted(*readings: tuple[float, dict[str, float]], hop: str = "edge") -> Facts:
    """Facts with these readings of a hop's page; the round lasts from 1 s to 3 s."""
    pages = tuple(PageSample(hop, int(at * NS), "haproxy", values) for at, values in readings)
    return replace(facts([]), beside=Beside(pages=pages))


def passed(rows: Sequence[tuple[float, float, float]]) -> Passage | None:
    """What became of the request, by (second, requests in, requests sent on)."""
    readings = [(at, {"requests_in": taken, "requests_up": up}) for at, taken, up in rows]
    return counted_passage(counted(*readings), ROUND, EDGE, DEPLOYMENT)


def test_a_request_that_was_alone_is_followed_by_counters() -> None:
    """It stayed, it went on once, it went on three times."""
    assert passed([(0.5, 7, 7), (2.5, 8, 7)]) == Passage("no", source="counters")
    assert passed([(0.5, 7, 7), (2.5, 8, 8)]) == Passage(
        "yes", 1, elsewhere=None, source="counters"
    )
    assert passed([(0.5, 7, 7), (2.5, 8, 10)]) == Passage(
        "yes", 3, elsewhere=None, source="counters"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [(0.5, 7, 7), (2.5, 9, 7)],  # somebody else asked as well
        [(0.5, 7, 7), (2.5, 7, 7)],  # it never came in, or the counter is late
        [(0.5, 7, 7), (1.4, 8, 7)],  # too early to say that it stayed
        [(2.5, 8, 8)],  # nothing before it to compare with
        [(0.5, 7, 7), (2.5, 1, 1)],  # the hop was restarted
    ],
)
def test_otherwise_counters_say_nothing(rows: Sequence[tuple[float, float, float]]) -> None:
    """A count of many tells of no single one."""
    assert passed(rows) is None


def test_a_breaker_is_open_by_its_page_or_by_the_log() -> None:
    """Closed only where the page can show that it is."""
    opened = breaker(EDGE, counted((2.0, {"breaker_open": 1})), [SESSION])
    closed = breaker(EDGE, counted((2.0, {"breaker_open": 0})), [SESSION])
    assert opened is not None
    assert closed is not None
    assert (opened.value, closed.value) == ("open", "closed")
    assert breaker(EDGE, counted((2.0, {"workers": 2})), [SESSION]) is None
    assert breaker(EDGE, counted((9.0, {"breaker_open": 1})), [SESSION]) is None
    entry = LogEntry(
        program="nginx", request_id=ROUND.exchange.request_id, dialled=False, no_worker=True
    )
    by_log = breaker(EDGE, facts([("edge", entry)]), [SESSION])
    assert by_log is not None
    assert by_log.value == "open"


def test_an_engine_has_neither() -> None:
    """Its counters are read for what it computes."""
    assert counted_passage(counted(), ROUND, ENGINE, DEPLOYMENT) is None
    assert breaker(ENGINE, counted(), [SESSION]) is None


def test_a_page_without_counters_is_no_look_at_the_engine() -> None:
    """It came, and is a dashboard or an unknown program's: the state of the engine stays unseen."""
    samples = [CounterSample("s", "c", "engine", at, {}) for at in (1, 2)]
    told = replace(facts([]), counters=tuple(samples))
    assert "shows no counters that are known here" in unread_pages(told)[0]
    late = CounterSample("s", "c", "engine", 3, None)
    assert "did not answer every time" in unread_pages(replace(told, counters=(*samples, late)))[0]
    known = CounterSample("s", "c", "engine", 3, {"running": 0.0})
    assert unread_pages(replace(told, counters=(*samples, known))) == []
