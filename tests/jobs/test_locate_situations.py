"""`locate` in bad situations, against real processes: it goes on, or says what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.proxied import QUICK, VICTIM, located

from exonerate.errors import ExonerateError
from exonerate.lab.processes import Ready, free_ports, start_program


@contextmanager
def path_of(
    folder: Path, fault: object = None, *, rules: str = "", down: bool = False
) -> Iterator[None]:
    """The lab's proxy before the scripted engine; `down`: the engine is not there."""
    proxy_port, engine_port = free_ports(2)
    script = {**QUICK, **({"fault": [{"do": fault}]} if fault else {})}
    (folder / "engine.json").write_text(json.dumps(script))
    (folder / "rules.toml").write_text(rules)
    (folder / "exonerate.toml").write_text(
        '[deployment]\nmodel = "scripted"\n'
        f'[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "http://127.0.0.1:{proxy_port}"\n'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://127.0.0.1:{engine_port}"\n'
        + VICTIM
    )
    engine = [
        sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(engine_port),
        "--config", str(folder / "engine.json"),
    ]  # fmt: skip
    proxy = [
        sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", f"127.0.0.1:{proxy_port}",
        "--upstream", f"http://127.0.0.1:{engine_port}", "--rules", str(folder / "rules.toml"),
    ]  # fmt: skip
    programs = [(proxy, proxy_port)] if down else [(engine, engine_port), (proxy, proxy_port)]
    with _all_started(folder, programs):
        yield


@contextmanager
def _all_started(folder: Path, programs: list[tuple[list[str], int]]) -> Iterator[None]:
    if not programs:
        yield
        return
    (argv, port), *rest = programs
    ready = Ready(url=f"tcp://127.0.0.1:{port}")
    with (
        start_program(argv, log=folder / f"{port}.log", ready=ready),
        _all_started(folder, rest),
    ):
        yield


def test_a_missing_key_ends_the_run_with_the_way_out(tmp_path: Path) -> None:
    """Nothing about the path can be learnt from answers of 401."""
    with (
        path_of(tmp_path, {"action": "status", "status": 401}),
        pytest.raises(ExonerateError, match="answers 401: it wants a key") as caught,
    ):
        located(tmp_path, blind=False)
    assert "api_key_env" in caught.value.hint


def test_one_address_under_two_names_is_refused(tmp_path: Path) -> None:
    """Two hops cannot be told apart where a request enters both at the same place."""
    (tmp_path / "exonerate.toml").write_text(
        '[deployment]\nmodel = "m"\n'
        '[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "http://localhost:8000"\n'
        '[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://127.0.0.1:8000/"\n'
    )
    with pytest.raises(ExonerateError, match="`edge` and `engine` have the same URL"):
        located(tmp_path)


def test_a_private_certificate_accuses_nobody_and_names_the_way_out(tmp_path: Path) -> None:
    """The client may know the authority: it is this tool that does not, until `ca` names it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    (port,) = free_ports(1)
    (tmp_path / "exonerate.toml").write_text(
        '[deployment]\nmodel = "m"\n'
        f'[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "https://127.0.0.1:{port}"\n{VICTIM}'
    )
    server = ["openssl", "s_server", "-accept", str(port), "-quiet"]
    keys = ["-key", str(tmp_path / "key"), "-cert", str(tmp_path / "cert")]
    ready = Ready(url=f"tcp://127.0.0.1:{port}")
    with start_program([*server, *keys], log=tmp_path / "tls.log", ready=ready):
        answer = located(tmp_path)
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    assert any("`ca`" in step or "`ca =" in step for step in answer["next"]), answer["next"]


def test_where_everything_refuses_connections_nobody_is_accused(tmp_path: Path) -> None:
    """It may be the way there, or this host; both are listed as not reached."""
    edge, engine = free_ports(2)
    (tmp_path / "exonerate.toml").write_text(
        '[deployment]\nmodel = "m"\n'
        f'[[hop]]\nname = "edge"\nrole = "proxy"\nurl = "http://127.0.0.1:{edge}"\n'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "http://127.0.0.1:{engine}"\n{VICTIM}'
    )
    answer = located(tmp_path, blind=False, symptom="errors")
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    said = " ".join(answer["not_examined"])
    assert "`edge`: cannot be reached from here" in said
    assert "`engine`: cannot be reached from here" in said


def test_an_engine_that_is_down_behind_a_proxy_that_says_so_is_named(tmp_path: Path) -> None:
    """The proxy answers 502 and the engine refuses: the way there is open."""
    with path_of(tmp_path, down=True):
        answer = located(tmp_path, blind=False, symptom="errors")
    assert [(f["class"], f["hops"]) for f in answer["faults"]] == [("engine-restart", ["engine"])]
