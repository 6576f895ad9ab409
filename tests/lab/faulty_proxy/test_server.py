"""The faulty proxy as a process, in front of the real engine: the founding story."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.patience import until

from exonerate.lab.processes import Ready, RunningProgram, free_ports, start_program

pytestmark = pytest.mark.engine
FOUNDING = """
[[rule]]
name = "the fourth"
when = { request_on_connection = 4 }
do = "swallow"
"""


@contextmanager
def proxy(engine_url: str, folder: Path, rules: str) -> Iterator[tuple[str, RunningProgram]]:
    """A running proxy with these rules; its request log is `folder/requests`."""
    (port,) = free_ports(1)
    (folder / "rules.toml").write_text(rules)
    argv = [sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", f"127.0.0.1:{port}"]
    argv += ["--upstream", engine_url, "--rules", str(folder / "rules.toml")]
    argv += ["--log", str(folder / "requests")]
    ready = Ready(url=f"tcp://127.0.0.1:{port}")
    with start_program(argv, log=folder / "proxy.log", ready=ready) as program:
        yield f"http://127.0.0.1:{port}", program


def harness(url: str, *options: str) -> tuple[int, dict[str, object]]:
    """Status and summary of the agent harness, with short rounds."""
    argv = [sys.executable, "-m", "exonerate.lab.harness", "--base-url", url, "--model", "smollm2"]
    argv += ["--rounds", "5", "--think", "0.05", "--deadline", "5", "--max-tokens", "2"]
    argv += ["--prompt-words", "20", "--growth-words", "10", *options]
    ended = subprocess.run(argv, capture_output=True, timeout=100)
    return ended.returncode, json.loads(ended.stdout)


def test_the_agent_wedges_and_the_repaired_proxy_cures_it(engine_url: str, tmp_path: Path) -> None:
    """The agent wedges at its 4th round; after the rules are repaired it makes all rounds."""
    with proxy(engine_url, tmp_path, FOUNDING) as (url, program):
        status, summary = harness(url)
        assert (status, summary["rounds_done"], summary["wedged_at"]) == (1, 3, 4)
        assert summary["connections"] == 1
        (tmp_path / "rules.toml").write_text("")
        os.kill(program.pid, signal.SIGHUP)
        assert harness(url)[1]["rounds_done"] == 5
        log = tmp_path / "requests"
        until(lambda: log.read_text().count("\n") == 9, "a line for each request")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    held = next(row for row in rows if row["did"])
    assert (held["request"], held["did"], held["upstream_bytes"]) == (4, ["the fourth"], 0)
    assert [row["connection"] for row in rows[-5:]] == [2] * 5


def test_the_neutral_proxy_shows_the_engines_own_answer(engine_url: str, tmp_path: Path) -> None:
    """Through the neutral proxy and directly, the same request gets the same text."""
    body = json.dumps({"prompt": "One, two, three,", "max_tokens": 8, "temperature": 0})
    texts = []
    with proxy(engine_url, tmp_path, "") as (url, _program):
        for base in (engine_url, url):
            connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=60)
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/completions", body, headers)
            texts.append(json.load(connection.getresponse())["choices"][0]["text"])
            connection.close()
    assert texts[0] == texts[1] != ""


def test_wrong_rules_are_reported_and_the_old_ones_stay(engine_url: str, tmp_path: Path) -> None:
    """At start a wrong file ends the proxy; on SIGHUP it is only reported."""
    with proxy(engine_url, tmp_path, FOUNDING) as (url, program):
        (tmp_path / "rules.toml").write_text("nonsense = 1")
        os.kill(program.pid, signal.SIGHUP)
        assert harness(url)[1]["wedged_at"] == 4
    assert "nonsense is not known" in (tmp_path / "proxy.log").read_text()
    argv = [sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", "127.0.0.1:0"]
    argv += ["--upstream", engine_url, "--rules", str(tmp_path / "rules.toml")]
    ended = subprocess.run(argv, capture_output=True, timeout=90)
    assert ended.returncode == 2
    assert b"hint:" in ended.stderr


def test_port_in_use(engine_url: str) -> None:
    """A proxy on a port that is taken says so and ends with status 2."""
    taken = engine_url.removeprefix("http://")
    argv = [sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", taken]
    ended = subprocess.run([*argv, "--upstream", engine_url], capture_output=True, timeout=90)
    assert ended.returncode == 2
    assert f"cannot serve on {taken}" in ended.stderr.decode()
