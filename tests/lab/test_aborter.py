"""The client that keeps leaving, against an engine that counts it."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

from tests.support.patience import until

from exonerate.lab.processes import Ready, free_ports, start_program


def test_each_leaving_is_an_abort_for_the_engine(tmp_path: Path) -> None:
    """Three requests given up in mid-answer are three aborts in the engine's counters."""
    (port,) = free_ports(1)
    (tmp_path / "engine.toml").write_text("token_s = 0.02\nanswer_tokens = 20000\n")
    argv = [sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(port)]
    argv += ["--config", str(tmp_path / "engine.toml")]
    ready = Ready(url=f"http://127.0.0.1:{port}/health")
    with start_program(argv, log=tmp_path / "log", ready=ready):
        aborter = [sys.executable, "-m", "exonerate.lab.aborter", "--model", "scripted"]
        aborter += ["--base-url", f"http://127.0.0.1:{port}", "--max-tokens", "20000"]
        aborter += ["--count", "3", "--after", "0.5"]
        assert subprocess.run(aborter, timeout=90, check=False).returncode == 0
        until(lambda: aborts(port).endswith(b" 3.0"), "three aborts in the counters")


def aborts(port: int) -> bytes:
    """The line of the engine's page that counts them."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().splitlines()
    connection.close()
    return next(row for row in page if b'finished_reason="abort"' in row)
