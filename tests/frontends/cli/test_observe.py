"""`exonerate locate --run` as a user runs it, with clients to blame and one that is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.ledger import open_ledger
from exonerate.compose import DECIDERS
from exonerate.core.case.answers import objects_in
from exonerate.core.deployment.model import Victim
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.main import cli
from exonerate.jobs.capture import read_capture
from exonerate.jobs.ledger_run import verify
from exonerate.lab.processes import Ready, free_ports, start_program

CLIENT = (sys.executable, "-m", "exonerate.lab.faulty_client", "--model", "scripted")
HARNESS = (sys.executable, "-m", "exonerate.lab.harness", "--model", "scripted")
SHORT = ("--rounds", "3", "--think", "0.1", "--prompt-words", "20", "--growth-words", "10")
DEPLOYMENT = """\
[deployment]
model = "scripted"
[[hop]]
name = "edge"
role = "proxy"
url = "{edge}"
[[hop]]
name = "engine"
role = "engine"
url = "{engine}"
[victim]
think_s = 0.1
prompt_tokens = 20
max_tokens = 8
deadline_s = 6
"""


@contextmanager
def path(
    folder: Path, engine: dict[str, object], proxy: dict[str, object], *, tapped: bool = False
) -> Iterator[None]:
    """A proxy before a scripted engine, and the deployment file of both.

    `tapped`: the proxy sends to where a tap is to stand, and nobody listens there by himself.
    """
    ports = free_ports(3)
    edge, core, tap = (f"http://127.0.0.1:{port}" for port in ports)
    (folder / "engine.json").write_text(json.dumps({"first_byte_s": 0.02, **engine}))
    (folder / "edge.json").write_text(json.dumps(proxy))
    module = (sys.executable, "-m")
    engine_argv = [*module, "exonerate.lab.scripted_engine", "--port", str(ports[1])]
    engine_argv += ["--config", str(folder / "engine.json")]
    proxy_argv = [*module, "exonerate.lab.faulty_proxy", "--listen", f"127.0.0.1:{ports[0]}"]
    behind = tap if tapped else core
    proxy_argv += ["--upstream", behind, "--rules", str(folder / "edge.json")]
    ready = [Ready(url=f"tcp://127.0.0.1:{port}") for port in ports[:2]]
    named = f'url = "{core}"' + (f'\ntap = "{tap}"' if tapped else "")
    text = DEPLOYMENT.replace('url = "{engine}"', named)
    (folder / "exonerate.toml").write_text(text.format(edge=edge))
    with (
        start_program(engine_argv, log=folder / "engine.log", ready=ready[1]),
        start_program(proxy_argv, log=folder / "edge.log", ready=ready[0]),
    ):
        yield


def located(folder: Path, *program: str, options: tuple[str, ...] = ()) -> tuple[int, Any, str]:
    """Exit status, answer and standard error of `locate --run --json`."""
    argv = [sys.executable, "-m", "exonerate", "locate", "--run", "--json", "--seed", "1"]
    done = subprocess.run(
        [*argv, *options, "--", *program],
        cwd=folder,
        env={**os.environ, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def known(folder: Path, *program: str, options: tuple[str, ...] = ()) -> tuple[int, Any, str]:
    """The same, asked again where the host had too little time to show anything."""
    for _ in range(6):
        status, answer, said = located(folder, *program, options=options)
        if answer["outcome"] != "insufficient_evidence":
            break
        assert (status, answer["faults"]) == (3, [])
    return status, answer, said


def blamed(answer: Any) -> list[tuple[str, list[str]]]:
    """Class and hops of every fault."""
    return [(fault["class"], fault["hops"]) for fault in answer["faults"]]


def test_a_healthy_client_on_a_healthy_path_accuses_nobody(tmp_path: Path) -> None:
    """Status 0; the harness's own output is not lost; the verdict can be decided again."""
    with path(tmp_path, {}, {}):
        recording = ("--record", str(tmp_path / "tap.json"))
        status, answer, said = known(tmp_path, *HARNESS, *SHORT, options=recording)
    assert (status, answer["outcome"]) == (0, "no_fault"), answer["paragraph"]
    assert answer["observed"]["requests"] == 3
    assert '"rounds_done": 3' in said
    victim = read_capture(tmp_path / "tap.json").victim(Victim())
    assert victim.rounds == 4
    ledger = open_ledger(tmp_path / ".exonerate" / "ledger.db", clock=SystemClock())
    verdicts = objects_in(verify(ledger.check_chain(), DECIDERS), "verdicts")
    assert {verdict["same"] for verdict in verdicts} == {True}


@pytest.mark.parametrize(
    ("options", "proxy", "engine", "expected"),
    [
        (
            ("pool-exhausted", "--pool-size", "2", "--deadline", "3"),
            {},
            {},
            ("pool-exhausted", ["client"]),
        ),
        (
            ("client-deadlock", "--at-round", "2", "--deadline", "3"),
            {},
            {},
            # On a host with no time to spare the looks can miss that the answer lay unread; then
            # all that shows is a client that holds its connections and asks nothing.
            ("client-deadlock|pool-exhausted", ["client"]),
        ),
        (
            ("client-timer", "--first-byte-limit", "0.4", "--retries", "2"),
            {},
            {"prefill_tokens_per_s": 25},
            ("client-timer", ["client"]),
        ),
        (
            ("half-close",),
            {"downstream": {"half_close": "abort"}},
            {"half_close": "answer"},
            ("half-close", ["client", "edge"]),
        ),
    ],
)
def test_a_client_that_is_to_blame_is_named_and_the_path_is_cleared(
    tmp_path: Path,
    options: tuple[str, ...],
    proxy: dict[str, object],
    engine: dict[str, object],
    expected: tuple[str, list[str]],
) -> None:
    """By its own run through the tap, and by the same requests sent without it."""
    with path(tmp_path, engine, proxy):
        status, answer, _ = known(tmp_path, *CLIENT, *SHORT, "--fault", *options)
    assert answer["outcome"] == "fault", answer["paragraph"]
    ((named, hops),) = blamed(answer)
    assert (status, hops) == (1, expected[1]), answer["paragraph"]
    assert named in expected[0].split("|"), answer["paragraph"]
    assert "engine" in {entry.get("hop") for entry in answer["cleared"]}


def test_a_tap_further_in_stands_while_the_program_runs(tmp_path: Path) -> None:
    """The proxy sends there: without it every request of the program would fail."""
    with path(tmp_path, {}, {}, tapped=True):
        status, answer, said = known(tmp_path, *HARNESS, *SHORT)
    assert '"rounds_done": 3' in said
    assert (status, blamed(answer)) == (0, []), answer["paragraph"]


@pytest.mark.parametrize(
    "words", [["--run"], ["--", "true"], ["--run", "--", "no-such-program-here"]]
)
def test_a_program_is_needed_behind_the_dashes(tmp_path: Path, words: list[str]) -> None:
    """`--run` alone, a program without it, and a program that is not there are refused."""
    (tmp_path / "x.toml").write_text(DEPLOYMENT.format(edge="http://a:1", engine="http://b:2"))
    with pytest.raises(ExonerateError) as refused:
        cli.main(["locate", "-c", str(tmp_path / "x.toml"), *words], standalone_mode=False)
    assert refused.value.hint
