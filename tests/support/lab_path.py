"""A real path for tests: the lab's llama.cpp server behind the lab's proxy, with rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from exonerate.lab.model import fetch_model
from exonerate.lab.processes import Ready, free_ports, start_program

DEPLOYMENT = """\
[deployment]
name = "lab"
model = "smollm2"

[[hop]]
name = "edge"
role = "proxy"
url = "http://127.0.0.1:{proxy_port}"

[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:{engine_port}"
metrics = "http://127.0.0.1:{engine_port}/metrics"

[victim]
rounds = 5
think_s = 0.2
prompt_tokens = 30
growth_tokens = 10
max_tokens = 6
deadline_s = 6
"""
SWALLOW_THIRD = '[[rule]]\nname = "third"\nwhen = { request_on_connection = 3 }\ndo = "swallow"\n'
BUFFER = '[[rule]]\nname = "buffers"\ndo = "buffer"\n'


@dataclass(frozen=True, slots=True)
class RealPath:
    """Where the parts of the path are."""

    folder: Path
    engine_port: int
    proxy_port: int
    engine_pid: int


@contextmanager
def real_path(folder: Path, rules: str = "", *, slots: int = 4) -> Iterator[RealPath]:
    """Start engine and proxy, write `exonerate.toml` into the folder; all ends with the block."""
    model = fetch_model(None, lambda text, fraction: None)
    engine_port, proxy_port = free_ports(2)
    (folder / "rules.toml").write_text(rules)
    (folder / "exonerate.toml").write_text(
        DEPLOYMENT.format(engine_port=engine_port, proxy_port=proxy_port)
    )
    engine = [
        sys.executable, "-m", "exonerate.lab.embedded_engine", "--model", str(model),
        "--port", str(engine_port), "--parallel", str(slots), "--alias", "smollm2",
    ]  # fmt: skip
    proxy = [
        sys.executable, "-m", "exonerate.lab.faulty_proxy",
        "--listen", f"127.0.0.1:{proxy_port}", "--upstream", f"http://127.0.0.1:{engine_port}",
        "--rules", str(folder / "rules.toml"),
    ]  # fmt: skip
    up = Ready(url=f"http://127.0.0.1:{engine_port}/health")
    listening = Ready(url=f"tcp://127.0.0.1:{proxy_port}")
    with (
        start_program(engine, log=folder / "engine.log", ready=up) as running,
        start_program(proxy, log=folder / "proxy.log", ready=listening),
    ):
        yield RealPath(folder, engine_port, proxy_port, running.pid)
