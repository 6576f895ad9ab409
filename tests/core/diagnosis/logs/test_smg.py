"""Lines of a real sglang-router 0.3.2, with its colours."""

from pathlib import Path

from exonerate.core.diagnosis.logs.entry import LogEntry
from exonerate.core.diagnosis.logs.matching import folded
from exonerate.core.diagnosis.logs.smg import parse_smg

DATA = Path(__file__).parents[3] / "data" / "logs"
TOLD = [
    one
    for line in (DATA / "sglang-router.log").read_text().splitlines()
    if (one := parse_smg(line)) is not None
]


def about(number: int) -> LogEntry:
    """Everything that the log says of one request."""
    return folded(one for one in TOLD if one.request_id == f"exonerate-{number:016x}")


def test_sends_that_failed_are_counted() -> None:
    """A worker that never answers is asked again and again, each time until the timer."""
    entry = about(2)
    assert (entry.dialled, entry.attempts, entry.end) == (True, 4, "sZH")
    assert entry.upstream == "127.0.0.1:48691"


def test_without_sends_the_log_says_only_what_came_out() -> None:
    """At its default level a 400 of the worker and a 503 of the router look alike."""
    assert (about(0xE).status, about(0xE).dialled) == (400, None)
    assert (about(0xF).status, about(0xF).dialled) == (503, None)


def test_a_breaker_that_opens_is_the_hops_affair() -> None:
    """The request that opened it was sent on."""
    opened = [one for one in TOLD if one.no_worker]
    assert [one.request_id for one in opened] == [None]
    assert not about(0xE).no_worker


def test_an_answer_that_was_good_came_from_the_worker() -> None:
    """What the router says of the time is the time until the head of the stream."""
    line = (
        "2026-11-30 20:15:29  INFO http_request{method=POST uri=/v1/chat/completions "
        'request_id="exonerate-0000000000000003" status_code=%d latency=73000}: '
        "smg::response: src/middleware.rs:359: finished processing request"
    )
    good, bad = parse_smg(line % 200), parse_smg(line % 429)
    assert good is not None
    assert bad is not None
    assert (good.answered, good.head_s) == (True, 0.073)
    assert (bad.answered, bad.status) == (False, 429)
