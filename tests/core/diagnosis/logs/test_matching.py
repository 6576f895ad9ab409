"""Which lines are about which request."""

from dataclasses import replace

from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.matching import LogLine, folded, line_about
from exonerate.core.wire.exchange import ConnectionFacts, Exchange

NS = 1_000_000_000
OURS = "exonerate-00000000000000aa"
ASKED = Exchange(
    session="victim@edge",
    hop="edge",
    round=1,
    connection=ConnectionFacts(ordinal=1, request_number=1, age_s=0, idle_s=0, local_port=5001),
    request_bytes=900,
    begun_ns=100 * NS,
    ended_ns=104 * NS,
    request_id=OURS,
)
BY_ID = LogEntry(program="nginx", request_id=OURS, connection="7", begun_s=0.0, dialled=True)


def line(entry: LogEntry, begun_s: float | None = 100.0, hop: str = "edge") -> LogLine:
    """The entry as a line that began then, on our clock."""
    return LogLine(hop, entry, None if begun_s is None else begun_s * NS)


def about(*lines: LogLine, entered_here: bool = True) -> LogEntry | None:
    """What these lines say of the request."""
    return line_about(lines, ASKED, "edge", entered_here=entered_here)


def test_our_id_is_enough_at_any_hop() -> None:
    """Proxies pass it on."""
    assert about(line(BY_ID), entered_here=False) == BY_ID
    assert about(line(BY_ID, hop="inner")) is None


def test_the_port_counts_where_the_request_entered_and_in_its_time() -> None:
    """Further in the port belongs to a proxy; later the same port carries the next request."""
    by_port = LogEntry(program="litellm", client_port=5001, status=500)
    assert about(line(by_port)) == by_port
    assert about(line(by_port), entered_here=False) is None
    assert about(line(by_port, begun_s=120.0)) is None


def test_a_line_with_our_other_id_is_about_the_other_request() -> None:
    """Also where it came over the same connection."""
    other = replace(BY_ID, request_id="exonerate-00000000000000bb", client_port=5001)
    assert about(line(other)) is None


def test_local_time_is_taken_for_what_it_is() -> None:
    """A zone moves a time by whole quarters of an hour."""
    assert about(line(BY_ID, begun_s=100.0 + 5.5 * 3600)) == BY_ID
    assert about(line(BY_ID, begun_s=100.0 - 8 * 3600)) == BY_ID


def test_the_error_log_is_joined_by_the_number_of_the_connection() -> None:
    """The access line shows a whole answer, the error line that the next hop fell silent."""
    whole = replace(BY_ID, end="---", begun_s=100.0, total_s=1.0)
    event = LogEntry(
        program="nginx", is_request=False, connection="7", begun_s=101.0, end="sZD"
    )  # fmt: skip
    told = about(line(whole), line(event, 101.0))
    assert told is not None
    assert (told.end, told.dialled, told.is_request) == ("sZD", True, True)
    foreign = replace(event, connection="8")
    assert about(line(whole), line(foreign, 101.0)) == whole


def test_tries_are_counted_once() -> None:
    """Events add up; a line about the whole request says how many there were."""
    sent = LogEntry(program="smg", is_request=False, dialled=True, attempts=1)
    assert folded([sent, sent, sent]).attempts == 3
    assert folded([LogEntry(program="caddy", attempts=2), sent]).attempts == 2


def test_a_later_line_takes_nothing_back() -> None:
    """Neither that it was sent on, nor how it ended."""
    cut = LogEntry(program="caddy", dialled=True, end="sFD")
    told = folded([cut, LogEntry(program="caddy", dialled=False, end="---", status=502)])
    assert (told.dialled, told.end, told.status) == (True, "sFD", 502)
