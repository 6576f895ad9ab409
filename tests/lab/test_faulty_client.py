"""Clients that are themselves to blame, against a healthy engine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exonerate.lab.processes import Ready, free_ports, start_program

CLIENT = [sys.executable, "-m", "exonerate.lab.faulty_client", "--model", "scripted"]
WEDGED_S = "3"
"""How long a round may take that never ends; the others take far less."""
SCRIPT = """
first_byte_s = 0.15
token_s = 0.0
answer_tokens = 4
[[fault]]
when = { request_in_process = "<= 2" }
do = "status"
"""
SLOW = "first_byte_s = 20.0"


@contextmanager
def engine(folder: Path, script: str) -> Iterator[str]:
    """An engine with this script; the address of its API."""
    (port,) = free_ports(1)
    (folder / "engine.toml").write_text(script)
    argv = [sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(port)]
    argv += ["--config", str(folder / "engine.toml")]
    ready = Ready(url=f"tcp://127.0.0.1:{port}")
    with start_program(argv, log=folder / "log", ready=ready):
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """An engine that answers 429 twice and then serves."""
    with engine(tmp_path, SCRIPT) as address:
        yield address


def run(url: str, fault: str, *options: str) -> dict[str, object]:
    """The summary of three rounds with a fault."""
    argv = [*CLIENT, "--base-url", url, "--rounds", "3", "--think", "0", "--deadline", WEDGED_S]
    argv += ["--fault", fault, *options]
    ended = subprocess.run(argv, capture_output=True, timeout=100)
    summary: dict[str, object] = json.loads(ended.stdout)
    assert ended.returncode == (0 if summary["rounds_done"] == 3 else 1)
    return summary


def test_faults_that_leak_connections(url: str) -> None:
    """A pool of two is empty after two errors that leaked, or after two streams left open."""
    summary = run(url, "pool-exhausted-on-errors")
    assert (summary["wedged_at"], summary["connections"]) == (1, 2)
    summary = run(url, "pool-exhausted")
    assert (summary["wedged_at"], summary["connections"]) == (3, 2)


def test_deadlock_timer_and_half_close(url: str, tmp_path: Path) -> None:
    """The deadlock wedges at its round, the timer gives up, the half-close gets no answer."""
    run(url, "pool-exhausted-on-errors", "--pool-size", "9")
    assert run(url, "client-deadlock", "--at-round", "2")["wedged_at"] == 2
    with engine(tmp_path, SLOW) as slow:
        timer = run(slow, "client-timer", "--first-byte-limit", "0.05", "--retries", "1")
    assert (timer["failed_at"], timer["connections"]) == (1, 2)
    assert "no first byte within 0.05 s, 2 times" in str(timer["why"])
    assert run(url, "client-timer")["rounds_done"] == 3
    assert run(url, "half-close")["failed_at"] == 1
