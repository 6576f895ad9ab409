"""Lines of a real HAProxy 2.6: its two letters in ours."""

from pathlib import Path

import pytest

from exonerate.core.diagnosis.logs.haproxy import parse_haproxy

LINES = (Path(__file__).parents[3] / "data" / "logs" / "haproxy.log").read_text().splitlines()
TOLD = {
    told.request_id: told for line in LINES if (told := parse_haproxy(line)) and told.request_id
}


@pytest.mark.parametrize(
    ("number", "dialled", "answered", "end"),
    [
        (1, True, True, "---"),
        (2, True, True, "sZD"),  # sD: `timeout server` in the middle
        (3, True, False, "sZH"),  # sH: before the head
        (5, True, False, "sZH"),  # the client had left; HAProxy went on waiting
        (6, True, True, "sFD"),  # SD: the next hop cut its answer
        (7, False, False, "hXQ"),  # <NOSRV>: marked down by its check, nobody was asked
        (8, True, True, "sXH"),  # the next hop's own 400
    ],
)
def test_the_termination_state_says_who_ended_it(
    number: int, dialled: bool, answered: bool, end: str
) -> None:
    """And the timers whether the request was sent on and answered."""
    told = TOLD[f"exonerate-{number:016x}"]
    assert (told.dialled, told.answered, told.end) == (dialled, answered, end)
    assert told.no_worker is (number == 7)


def line(state: str, server: str = "engine", connect: str = "0", retries: str = "0") -> str:
    """A line as HAProxy writes it, with these letters."""
    return (
        "Nov 30 20:14:39 host haproxy[12]: 127.0.0.1:35320 [30/Nov/2026:20:14:39.186] front "
        f"back/{server} 0/0/{connect}/-1/1084 503 0 - - {state}-- 1/1/0/0/{retries} 0/0 "
        '{exonerate-0000000000000002} "POST /v1/x HTTP/1.1"'
    )


def test_a_refused_connection_and_a_full_queue_are_told_apart() -> None:
    """The first is the next hop's word, the second means load and nobody was asked."""
    refused = parse_haproxy(line("SC", connect="-1", retries="+3"))
    queued = parse_haproxy(line("sQ", server="<NOSRV>", connect="-1"))
    assert refused is not None
    assert queued is not None
    assert (refused.end, refused.dialled, refused.attempts) == ("sXK", True, 4)
    assert (queued.end, queued.dialled, queued.no_worker) == ("hXQ", False, False)


def test_what_haproxy_says_of_its_servers_is_no_request() -> None:
    """Alerts and warnings stand in the same stream."""
    assert parse_haproxy("backend bdead has no server available!") is None
