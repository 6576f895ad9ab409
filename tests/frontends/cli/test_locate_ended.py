"""`locate` that is ended in the middle leaves nothing running, here or at the engine."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.support.patience import until

from exonerate.lab.processes import Ready, free_ports, start_program

SLOW = '{"first_byte_s": 60, "names": "vllm"}'
HOLDS = re.compile(r"^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$", re.MULTILINE)


def held(port: int) -> float:
    """How many requests the engine holds, by its own counters."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as page:
        return sum(float(value) for value in HOLDS.findall(page.read().decode()))


def children_of(pid: int) -> list[str]:
    """The processes that this one has started, by their pid."""
    found: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += (task / "children").read_text().split()
    return found


@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_request_and_no_process_outlives_it(tmp_path: Path, number: signal.Signals) -> None:
    """Requests are under way through the proxy and past it; all of them are taken back."""
    edge, engine = free_ports(2)
    (tmp_path / "engine.json").write_text(SLOW)
    module = [sys.executable, "-m"]
    programs = (
        [*module, "exonerate.lab.scripted_engine", "--port", str(engine), "--config",
         str(tmp_path / "engine.json")],
        [*module, "exonerate.lab.faulty_proxy", "--listen", f"127.0.0.1:{edge}", "--upstream",
         f"http://127.0.0.1:{engine}"],
    )  # fmt: skip
    urls = [f"http://127.0.0.1:{port}" for port in (edge, engine)]
    ready = [Ready(url=f"tcp://127.0.0.1:{port}") for port in (engine, edge)]
    with (
        start_program(programs[0], log=tmp_path / "engine.log", ready=ready[0]),
        start_program(programs[1], log=tmp_path / "edge.log", ready=ready[1]),
        subprocess.Popen(
            [*module, "exonerate", "locate", *urls, "--model", "scripted", "--seed", "3"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as locating,
    ):
        until(lambda: held(engine) >= 2, "two requests at the engine")
        started = children_of(locating.pid)
        locating.send_signal(number)
        locating.communicate(timeout=90)
        assert locating.returncode == 130
        until(lambda: held(engine) == 0, "an engine that holds nothing any more")
        assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
