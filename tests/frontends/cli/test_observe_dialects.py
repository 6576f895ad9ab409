"""Clients of other APIs, found by other variables, observed as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.frontends.cli.test_observe import located

from exonerate.lab.processes import Ready, free_ports, start_program

ENGINE = Path(__file__).parents[2] / "support" / "dialect_engine.py"
CLIENT = """
import http.client, json, os, sys, urllib.parse
variable, path, stream = sys.argv[1:]
base = urllib.parse.urlsplit(os.environ[variable])
connection = http.client.HTTPConnection(base.hostname, base.port)
for number in range(3):
    said = [{"role": "user", "content": f"question {number} " + "river stone " * 20}]
    history = "messages" if path.endswith("/messages") else "input"
    body = {"model": "m", "max_tokens": 8, history: said}
    if stream == "yes":
        body["stream"] = True
    head = {"content-type": "application/json", "x-api-key": "none"}
    connection.request("POST", base.path + path, json.dumps(body), head)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read()
"""
DEPLOYMENT = """\
[deployment]
model = "m"
[[hop]]
name = "engine"
role = "engine"
url = "http://127.0.0.1:{port}"
[victim]
deadline_s = 1
"""


@pytest.mark.parametrize(
    ("variable", "path", "stream", "silence_s"),
    [
        ("ANTHROPIC_BASE_URL", "/v1/messages", "yes", 0.05),
        ("OPENAI_BASE_URL", "/responses", "no", 2.0),
    ],
    ids=["a stream of messages", "whole responses, twice as late as the deadline"],
)
def test_a_client_of_another_api_is_observed_as_it_is(
    tmp_path: Path, variable: str, path: str, stream: str, silence_s: float
) -> None:
    """Nobody is accused, that it waits in silence is no hang, and copies of it ask as it did."""
    (port,) = free_ports(1)
    (tmp_path / "exonerate.toml").write_text(DEPLOYMENT.format(port=port))
    (tmp_path / "agent.py").write_text(CLIENT)
    engine = [sys.executable, str(ENGINE), str(port), str(silence_s)]
    ready = Ready(url=f"tcp://127.0.0.1:{port}")
    with start_program(engine, log=tmp_path / "engine.log", ready=ready):
        status, answer, said = located(tmp_path, sys.executable, "agent.py", variable, path, stream)
    assert (status, answer["outcome"]) == (0, "no_fault"), (answer["paragraph"], said)
    observed = answer["observed"]
    assert (observed["requests"], observed["answered"]) == (3, 3)
    victim = observed["victim"]
    assert victim["endpoint"] == "/v1" + path.removeprefix("/v1")
    assert victim["stream"] is (stream == "yes")
    assert victim["deadline_s"] >= silence_s
