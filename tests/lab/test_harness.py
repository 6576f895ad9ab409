"""The agent harness against the real engine: it is a client like others."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading

import pytest

HARNESS = [sys.executable, "-m", "exonerate.lab.harness", "--model", "smollm2"]
SHORT = ["--rounds", "3", "--max-tokens", "2", "--prompt-words", "10", "--growth-words", "5"]


def run(url: str, *options: str) -> tuple[int, dict[str, object], str]:
    """Status, summary and progress lines of one run."""
    argv = [*HARNESS, "--base-url", url, *SHORT, *options]
    ended = subprocess.run(argv, capture_output=True, timeout=100)
    return ended.returncode, json.loads(ended.stdout), ended.stderr.decode()


@pytest.mark.engine
def test_survives_an_engine_that_closes_after_each_answer(engine_url: str) -> None:
    """All rounds are made although llama.cpp closes the connection after each streamed answer."""
    status, summary, lines = run(engine_url, "--think", "0.05")
    assert (status, summary["rounds_done"], summary["wedged_at"]) == (0, 3, None)
    assert summary["connections"] == 3
    assert len(lines.splitlines()) == 3


@pytest.mark.engine
def test_without_streaming_the_connection_is_kept(engine_url: str) -> None:
    """Whole answers come over one connection."""
    status, summary, _ = run(engine_url, "--think", "0.05", "--no-stream")
    assert (status, summary["connections"]) == (0, 1)


@pytest.mark.engine
def test_a_blind_pool_fails_on_the_closed_connection(engine_url: str) -> None:
    """A pool that does not look sends its second request into a closed connection."""
    status, summary, _ = run(engine_url, "--think", "0.2", "--pool", "blind")
    assert (status, summary["failed_at"], summary["wedged_at"]) == (1, 2, None)
    assert "closed the connection" in str(summary["why"])


def test_a_silent_server_wedges_it_at_the_deadline() -> None:
    """A server that accepts and never answers is a wedge at the first round."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        status, summary, lines = run(url, "--deadline", "0.3")
    assert (status, summary["wedged_at"], summary["rounds_done"]) == (1, 1, 0)
    assert "no whole answer within 0.3 s" in lines


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\nbusy", "status 503: busy"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata: {}\n", "without [DONE]"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: {}\n", "Incomplete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata", "5 bytes too early"),
        (b"", "closed"),
    ],
)
def test_bad_answers_fail_the_round(answer: bytes, why: str) -> None:
    """Errors, cut streams and closed connections fail a round; they are not wedges."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        status, summary, _ = run(f"http://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert (status, summary["failed_at"], summary["wedged_at"]) == (1, 1, None)
    assert why in str(summary["why"])


def test_nobody_listens() -> None:
    """A refused connection fails the first round."""
    status, summary, _ = run("http://127.0.0.1:1")
    assert (status, summary["failed_at"]) == (1, 1)
    assert "refused" in str(summary["why"])


def test_it_goes_on_after_failures_when_told_so() -> None:
    """Every round is tried, each in a new conversation; none was made."""
    status, summary, lines = run("http://127.0.0.1:1", "--go-on", "--think", "0")
    assert (status, summary["rounds_done"], summary["failed_at"]) == (1, 0, None)
    assert lines.count("refused") == 3
