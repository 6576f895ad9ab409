"""`exonerate ab KNOB` and `aa` on real parts: a launch script, a process, sockets, signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import until

ENGINE = """
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAUSE_S = {"slow": 0.024, "fast": 0.008}[os.environ.get("PACE", "slow")]
PAUSE_S *= float(open("times").read())

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        count = body["max_tokens"]
        for number in range(count):
            time.sleep(PAUSE_S)
            self.event({"choices": [self.choice({"content": "x"}, None)]})
        self.event({"choices": [self.choice({}, "length")]})
        self.event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": count}})
        self.chunk(b"data: [DONE]\\n\\n")
        self.wfile.write(b"0\\r\\n\\r\\n")

    def choice(self, delta, finish_reason):
        return {"index": 0, "delta": delta, "finish_reason": finish_reason}

    def event(self, fields):
        fields |= {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        self.chunk(b"data: " + json.dumps(fields).encode() + b"\\n\\n")

    def chunk(self, data):
        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))
        self.wfile.flush()

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


class Place:
    """A folder with a deployment; its service is stopped at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "engine.py").write_text(ENGINE)
        self.take(1)
        self.script = folder / "serve.sh"
        self.script.write_text(f"#!/bin/sh\nset -eu\nexec {sys.executable} engine.py {self.port}\n")
        self.script.chmod(0o755)
        self.original = self.script.read_bytes()
        (folder / "exonerate.toml").write_text(f"""
[deployment]
name = "t"
model = "m"
[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:{self.port}"
[victim]
prompt_tokens = 20
max_tokens = 16
[[service]]
name = "engine"
hop = "engine"
start = ["./serve.sh"]
ready = "http://127.0.0.1:{self.port}/health"
ready_timeout_s = 60
[[knob]]
name = "PACE"
service = "engine"
file = "serve.sh"
form = "export"
values = ["slow", "fast"]
default = "slow"
""")

    def take(self, times: int) -> None:
        """Let the engine take so many times as long for each token."""
        (self.folder / "times").write_text(str(times))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `exonerate` in the folder."""
        return subprocess.Popen(
            [sys.executable, "-m", "exonerate", *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, Any, str]:
        """Exit status, parsed stdout (None when it is empty) and stderr."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=250)
        return process.returncode, json.loads(out) if out else None, err

    def wait_for_the_other_arm(self) -> None:
        """Wait until the launch script holds the arm that is not the original."""
        until(lambda: self.script.read_bytes() != self.original, "the other arm")

    def paces(self) -> list[str]:
        """The setting of each process of the engine that runs now, and of no other."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_engine(entry):
                pairs = (entry / "environ").read_bytes().split(b"\0")
                found += [p.decode() for p in pairs if p.startswith(b"PACE=")] or ["default"]
        return found

    def stop(self) -> None:
        """End the engine, if it runs."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_engine(entry):
                os.kill(int(entry.name), signal.SIGKILL)

    def _is_engine(self, entry: Path) -> bool:
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return b"engine.py" in words and str(self.port).encode() in words


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A deployment whose engine is twice as fast with PACE=fast."""
    place = Place(tmp_path)
    yield place
    place.stop()


SMALL = ("-C", "2", "--requests", "8", "--yes")


def compared(place: Place) -> Any:
    """The answer of an A/B that came to a verdict.

    On a host that has no time for the client, or for the engine, the answer says so, and must say
    no more than that; then a slower engine is measured, beside which the same delays weigh less.
    """
    for times in (1, 3, 9):
        place.take(times)
        words = ("ab", "PACE", "--blocks", "3", "--seed", "2", *SMALL, "--json")
        status, answer, err = place.run(*words)
        assert status in (0, 3), err
        assert place.script.read_bytes() == place.original
        assert place.paces() == ["default"]
        if status == 0:
            return answer
        broken = {gate["gate"] for gate in answer["gates"] if gate["status"] == "broken"}
        assert broken <= {"in-flight", "instrument"}
        assert answer["primary"]["verdict"] == ("invalid" if broken else "undecided")
    raise AssertionError(f"nothing was decided, however slow the engine was: {err}")


def test_three_blocks_on_a_real_process(place: Place) -> None:
    """The faster setting is found, the script and the engine are as before, and it verifies."""
    answer = compared(place)
    assert answer["primary"]["verdict"] == "better"
    assert answer["primary"]["effect"] > 0.3
    assert answer["arms"] == ["slow", "fast"]
    assert [g["gate"] for g in answer["gates"] if g["status"] == "broken"] == []
    assert {g["gate"] for g in answer["gates"] if g["status"] == "kept"} >= {
        "environment", "errors", "tokens", "in-flight", "order", "start",
    }  # fmt: skip
    status, verification, _ = place.run("case", "verify", "--json")
    assert status == 0
    assert {verdict["same"] for verdict in verification["verdicts"]} == {True}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_puts_the_original_back(place: Place, number: signal.Signals) -> None:
    """Interrupted in the other arm: the script and the engine are as before, it says so, 130."""
    process = place.start("ab", "PACE", "--blocks", "3", "--seed", "2", *SMALL)
    place.wait_for_the_other_arm()
    process.send_signal(number)
    out, err = process.communicate(timeout=110)
    assert process.returncode == 130, err
    assert out == ""
    assert "the original state of engine is back" in err
    assert place.script.read_bytes() == place.original
    assert place.paces() == ["default"]


def test_the_next_command_finishes_what_a_kill_cut_off(place: Place) -> None:
    """Killed in the other arm: the arm stays, until the next experiment puts the original back."""
    process = place.start("ab", "PACE", "--blocks", "3", "--seed", "2", *SMALL)
    place.wait_for_the_other_arm()
    process.kill()
    process.communicate(timeout=110)
    assert place.script.read_bytes() != place.original
    status, answer, err = place.run("aa", "--blocks", "1", *SMALL, "--json")
    assert status == 3, err
    assert "which was cut off" in err
    assert place.script.read_bytes() == place.original
    assert place.paces() == ["default"]
    assert answer["restarts"][0]["cells"][0]["value"] > 0


def test_two_experiments_at_once_are_refused(place: Place) -> None:
    """While one runs, a second is refused with status 2 and touches nothing."""
    first = place.start("aa", "--blocks", "1", *SMALL)
    lock = place.folder / ".exonerate" / ".change.exonerate.lock"
    until(lock.exists, "the lock of the first")
    status, _, err = place.run("ab", "PACE", *SMALL)
    assert status == 2
    assert "another command is changing this deployment now" in err
    first.communicate(timeout=110)
    assert first.returncode == 3


def test_the_plan_touches_nothing(place: Place) -> None:
    """`--plan` says what could be shown and starts no engine and no ledger."""
    status, plan, _ = place.run("ab", "PACE", "-C", "2", "--plan", "--noise", "0.005", "--json")
    assert status == 0
    assert plan["noise"]["source"] == "as given"
    assert plan["smallest_visible"]["primary"] == pytest.approx(0.012, abs=0.001)
    assert place.paces() == []
    assert not (place.folder / ".exonerate").exists()


def test_nothing_is_restarted_where_nobody_can_be_asked(place: Place) -> None:
    """Without a terminal and without `--yes` it leaves with 2, says both ways out, and waits."""
    status, _, err = place.run("ab", "PACE", *SMALL[:-1])
    assert status == 2
    assert "`--plan`" in err
    assert "`--yes`" in err
    assert place.paces() == []


def test_an_unknown_knob_is_named_with_the_known_ones(place: Place) -> None:
    """A knob that is not there leaves with 2 and the names that are."""
    status, _, err = place.run("ab", "PACER", *SMALL)
    assert status == 2
    assert "PACE" in err
