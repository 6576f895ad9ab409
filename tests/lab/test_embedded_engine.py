"""The embedded engine as a process: its endpoints, its end, and its refusals."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.patience import PATIENCE_S

from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.lab.processes import Ready, answers, free_ports, start_program

pytestmark = pytest.mark.engine
ENGINE = [sys.executable, "-m", "exonerate.lab.embedded_engine"]


def get(url: str, path: str) -> tuple[int, bytes]:
    """Status and body of one GET."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def test_counters_slots_and_name_are_served(engine_url: str) -> None:
    """Metrics and slots are on, and the model answers to its alias."""
    assert b"llamacpp:requests_processing" in get(engine_url, "/metrics")[1]
    assert get(engine_url, "/slots")[1].count(b'"n_ctx"') >= 2
    assert b"smollm2" in get(engine_url, "/v1/models")[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_in_mid_answer(
    number: signal.Signals, model_file: Path, tmp_path: Path
) -> None:
    """A signal in the middle of an answer ends the process before the answer; the port is free."""
    (port,) = free_ports(1)
    argv = [*ENGINE, "--model", str(model_file), "--port", str(port), "--ctx", "2048"]
    ready = Ready(url=f"http://127.0.0.1:{port}/health")
    with start_program(argv, log=tmp_path / "log", ready=ready) as program:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = '{"prompt": "Count:", "max_tokens": 1800, "stream": true, "ignore_eos": true}'
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.readline().startswith(b"data: ")
        os.kill(program.pid, number)
        assert program.wait(PATIENCE_S) == -number
        with suppress(http.client.IncompleteRead, ConnectionError):
            assert b"[DONE]" not in response.read()
        connection.close()
        response.close()
    assert not answers(f"tcp://127.0.0.1:{port}")


def test_port_in_use(engine_url: str, model_file: Path) -> None:
    """A second engine on the same port ends with status 2 and says which port it was."""
    port = engine_url.rpartition(":")[2]
    second = subprocess.run(
        [*ENGINE, "--model", str(model_file), "--port", port], capture_output=True, timeout=60
    )
    assert second.returncode == 2
    assert f"did not start on 127.0.0.1:{port}" in second.stderr.decode()


def test_missing_model(tmp_path: Path) -> None:
    """A model path that does not exist is named before anything is started."""
    missing = subprocess.run(
        [*ENGINE, "--model", str(tmp_path / "none.gguf"), "--port", "1"],
        capture_output=True,
        timeout=60,
    )
    assert missing.returncode == 2
    assert "there is no model file" in missing.stderr.decode()


def test_a_real_engine_tells_its_load_twice(engine_url: str) -> None:
    """The gauge and the slots of llama.cpp agree, and both are made when they are asked for."""
    states = engine_states()
    path = states.path("llama.cpp")
    assert path is not None
    kind, values = counter_reader()(get(engine_url, "/metrics")[1].decode())
    slots = states.read("llama.cpp", get(engine_url, path)[1].decode())
    assert kind == "llama.cpp"
    assert slots["busy_slots"] == values["running"] == 0
    assert states.traits("llama.cpp")["state_age_s"] == 0
