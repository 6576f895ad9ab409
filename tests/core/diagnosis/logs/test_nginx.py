"""Lines of a real nginx 1.22: what each of them tells."""

from pathlib import Path

import pytest

from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.nginx import parse_nginx

DATA = Path(__file__).parents[3] / "data" / "logs"
LINES = (DATA / "nginx-access.log").read_text().splitlines()
ERRORS = (DATA / "nginx-error.log").read_text().splitlines()
COMBINED = (DATA / "nginx-combined.log").read_text().splitlines()


def entry(number: int) -> LogEntry:
    """What the access line about the request of that number says."""
    found = parse_nginx(LINES[number - 1])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("number", "dialled", "answered", "end"),
    [
        (1, True, True, "---"),  # whole
        (3, True, False, "sZH"),  # the next hop was silent
        (4, True, True, "cFD"),  # the client left in the middle
        (5, True, False, "cFH"),  # the client left before the head
        (7, True, False, "sXK"),  # the next hop refused the connection, twice
        (8, True, True, "sXH"),  # the next hop's own 400
        (9, False, False, "hXB"),  # 413, of nginx itself
    ],
)
def test_the_access_log_tells_both_faces(
    number: int, dialled: bool, answered: bool, end: str
) -> None:
    """Whether the request was sent on, whether an answer came, and who ended it."""
    told = entry(number)
    assert (told.dialled, told.answered, told.end) == (dialled, answered, end)
    assert told.request_id == f"exonerate-{number:016x}"


def test_tries_and_times_are_read() -> None:
    """Two servers were tried; the begin is the end less what it took."""
    assert entry(7).attempts == 2
    assert entry(1).begun_s == pytest.approx(1796069669.345 - 0.192)
    assert entry(1).client_port == 39152


def test_phrases_of_the_error_log_say_who_broke_off() -> None:
    """Timer, FIN, refusal, a client that left, a body that was too large; the rest says nothing."""
    told = [parsed for line in ERRORS if (parsed := parse_nginx(line)) is not None]
    ends = ["sZD", "sZH", "cFD", "cFH", "sFD", "sXK", "sXK", "hXB"]
    assert [parsed.end for parsed in told] == ends
    assert all(parsed.connection and not parsed.is_request for parsed in told)


def test_the_default_format_tells_little() -> None:
    """Status and moment; nothing of the next hop."""
    told = [parse_nginx(line) for line in COMBINED]
    assert [parsed.status for parsed in told if parsed] == [
        200, 200, 504, 200, 499, 200, 502, 400, 413, 200,
    ]  # fmt: skip
    assert all(parsed is not None and parsed.dialled is None for parsed in told)


def test_a_group_without_a_living_server_is_no_try() -> None:
    """nginx then writes the name of the group where the address would stand."""
    line = LINES[6].replace("127.0.0.1:47869, 127.0.0.1:47869", "behind")
    told = parse_nginx(line)
    assert told is not None
    assert (told.dialled, told.no_worker, told.end) == (False, True, "hXQ")
