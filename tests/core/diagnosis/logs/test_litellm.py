"""Lines of a real litellm 1.110 proxy."""

from pathlib import Path

from exonerate.core.diagnosis.logs.formats import parse_lines
from exonerate.core.diagnosis.logs.litellm import joined, parse_litellm

LINES = (Path(__file__).parents[3] / "data" / "logs" / "litellm.log").read_text().splitlines()


def test_an_error_is_joined_to_the_answer_that_follows_it() -> None:
    """A timer, a refused connection, the next hop's 400; good answers say nothing more."""
    told, _ = parse_lines(LINES, "litellm")
    asked = [one for one in told if one.path == "/v1/chat/completions"]
    assert [(one.status, one.end, one.attempts) for one in asked] == [
        (200, None, 0), (408, "sZH", 2), (200, None, 0), (500, "sXK", 2), (400, "sXH", 1),
        (200, None, 0),
    ]  # fmt: skip


def test_two_errors_before_two_answers_are_joined_to_neither() -> None:
    """Which is whose cannot be told."""
    told = [one for line in LINES if (one := parse_litellm(line)) is not None]
    errors = [one for one in told if one.end is not None][:2]
    answers = [one for one in told if (one.status or 0) >= 400][:2]
    assert [one.end for one in joined([*errors, *answers])] == [None, None]


def test_uvicorns_line_by_itself_tells_that_a_request_was_seen() -> None:
    """As vLLM and SGLang write it."""
    one = parse_litellm('INFO:     127.0.0.1:51234 - "POST /v1/completions HTTP/1.1" 503 Busy')
    assert one is not None
    assert (one.client_port, one.status, one.path) == (51234, 503, "/v1/completions")
