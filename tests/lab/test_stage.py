"""Scenarios as real processes: they stand, they misbehave as written, and they go."""

from __future__ import annotations

import os
import subprocess
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.patience import until

from exonerate.errors import ExonerateError
from exonerate.lab.processes import answers
from exonerate.lab.scenario import draw, read_template
from exonerate.lab.stage import network, staged

WEDGE = """
id = "X2"
title = "wedges at the second round"
[[part]]
name = "edge"
kind = "faulty-proxy"
log = true
settings = { rule = [{ when = { request_on_connection = 2 }, do = "swallow" }] }
[[part]]
name = "plain"
kind = "program"
hidden = true
argv = ["$python", "relay.py", "${port.plain}", "${port.engine}"]
[part.files]
"relay.py" = '''
import socket, sys, threading
def pump(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, _ = server.accept()
    engine = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for pair in ((client, engine), (engine, client)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
'''
[[part]]
name = "engine"
kind = "scripted"
settings = { model = "toy", first_byte_s = 0.0, token_s = 0.01, answer_tokens = 100 }
[[background]]
program = "aborter"
at = "engine"
options = ["--count", "2", "--after", "0.05", "--pause", "0"]
lead_s = 0.5
[files]
"body.json" = "{}"
[victim]
rounds = 3
think_s = 0.0
max_tokens = 4
deadline_s = 4.0
[expected]
outcome = "fault"
[[expected.fault]]
layer = "proxy"
class = "drops-requests"
hops = ["edge"]
"""


def silent(_text: str, _share: float | None) -> None:
    """Progress that nobody reads."""


def test_a_scenario_stands_misbehaves_and_goes(tmp_path: Path) -> None:
    """The victim wedges on the staged path; the deployment file fits it; afterwards all is gone."""
    path = tmp_path / "x2.toml"
    path.write_text(WEDGE)
    with staged(read_template(path), seed=1, folder=tmp_path, progress=silent) as stage:
        deployment = tomllib.loads(stage.deployment.read_text())
        assert [hop["name"] for hop in deployment["hop"]] == ["edge", "engine"]
        assert deployment["hop"][0]["url"] == stage.entry_url
        assert deployment["deployment"]["model"] == "toy"
        assert deployment["victim"]["rounds"] == 3
        environ = {**os.environ, **stage.client_environ}
        ended = subprocess.run(stage.client_argv, capture_output=True, env=environ, timeout=100)
        assert ended.returncode == 1
        assert b'"wedged_at": 2' in ended.stdout
        assert (tmp_path / "body.json").read_text() == "{}"
        urls = [url.replace("http", "tcp") for url in stage.urls.values()]
        assert all(map(answers, urls))
        log = Path(deployment["hop"][0]["log"])
        until(lambda: log.read_text().count("\n") == 2, "a line for each request")
    assert log.read_text().count("\n") == 2
    until(lambda: not any(map(answers, urls)), "the end of all parts")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A scenario that needs a program which is not installed says which."""
    path = tmp_path / "x2.toml"
    path.write_text('needs = ["no-such-proxy"]\n' + WEDGE.lstrip())
    with (
        pytest.raises(ExonerateError, match="X2 needs no-such-proxy"),
        staged(read_template(path), seed=1, folder=tmp_path, progress=silent),
    ):
        pass


def test_client_and_parts_are_where_the_scenario_says(tmp_path: Path) -> None:
    """URLs carry a part's name, the client's resolver and environment are set, a part is pinned."""
    path = tmp_path / "x3.toml"
    text = WEDGE.replace("title = ", 'names_at = "127.53.0.9"\ntitle = ')
    client = '[client]\nenviron = { http_proxy = "http://127.0.0.1:3128" }\n'
    text = text.replace("log = true", 'host = "edge.lab.test"\ncpu = 0')
    path.write_text(text.replace("[victim]", f"{client}[victim]"))
    with staged(read_template(path), seed=1, folder=tmp_path, progress=silent) as stage:
        assert stage.entry_url.startswith("http://edge.lab.test:")
        status = Path(f"/proc/{stage.programs['edge'].pid}/status").read_text()
    resolver = Path(stage.client_prefix[-1])
    assert stage.client_prefix[0] == "unshare"
    assert resolver.read_text().startswith("nameserver 127.53.0.9\n")
    assert "Cpus_allowed_list:\t0\n" in status
    assert stage.client_environ["http_proxy"] == "http://127.0.0.1:3128"


def test_two_networks_of_scenarios_never_stand_at_the_same_time(tmp_path: Path) -> None:
    """Their names are the same for everybody: one would take the other one's away."""
    place = tmp_path / "network"
    text = f"""
id = "X9"
title = "builds something that can only be there once"
setup = "mkdir {place}"
teardown = "rmdir {place}"
[[part]]
name = "engine"
kind = "scripted"
[expected]
outcome = "no_fault"
"""
    written = tmp_path / "x9.toml"
    written.write_text(text)
    scenario = draw(read_template(written), seed=1, ports={"engine": 1})

    def up(_: int) -> bool:
        with network(scenario, lambda text, fraction: None):
            time.sleep(0.2)
            return place.is_dir()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(up, range(4)))
    assert not place.exists()
