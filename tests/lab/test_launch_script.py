"""The launch script starts a real engine and shows its knob in the serving process."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path

import pytest

from exonerate.lab.launch_script import LaunchScript, launch_script_text, write_launch_script
from exonerate.lab.processes import Ready, answers, free_ports, start_program

pytestmark = pytest.mark.engine


def test_text_is_valid_bash_with_one_line_per_knob() -> None:
    """Each exported knob is one line, quoted where it must be, and bash accepts the script."""
    script = LaunchScript(
        python="/opt/my env/bin/python",
        model=Path("/models/a b.gguf"),
        port=18080,
        exports={"LLAMA_ARG_UBATCH": "512", "NOTE": "two words"},
    )
    text = launch_script_text(script)
    assert "export LLAMA_ARG_UBATCH=512\n" in text
    assert "export NOTE='two words'\n" in text
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_serving_process_carries_the_knob(model_file: Path, tmp_path: Path) -> None:
    """The process that answers has the exported knob in its environment and its flags."""
    (port,) = free_ports(1)
    script = LaunchScript(
        python=sys.executable,
        model=model_file,
        port=port,
        exports={"LLAMA_ARG_UBATCH": "64"},
        flags={"--parallel": "1", "--ctx": "512"},
    )
    path = write_launch_script(tmp_path / "serve_engine.sh", script)
    ready = Ready(url=f"http://127.0.0.1:{port}/health")
    with start_program([str(path)], log=tmp_path / "log", ready=ready) as program:
        process = Path(f"/proc/{program.pid}")
        assert b"LLAMA_ARG_UBATCH=64" in (process / "environ").read_bytes().split(b"\0")
        assert b"exonerate.lab.embedded_engine" in (process / "cmdline").read_bytes().split(b"\0")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = json.dumps({"model": "smollm2", "prompt": "One, two,", "max_tokens": 4})
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        answer = json.load(connection.getresponse())
        connection.close()
        assert answer["usage"]["completion_tokens"] == 4
    assert "ubatch=64" in (tmp_path / "log").read_text()
    assert not answers(f"tcp://127.0.0.1:{port}")
