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
    folder: Path,
    fault: object = None,
    *,
    rules: str = "",
    down: bool = False,
    role: str = "proxy",
    named: str = "",
    hidden: str = "",
) -> Iterator[None]:
    """The lab's proxy before the scripted engine; `down`: the engine is not there.

    `named`: what the deployment file says of where the engine is, in place of the truth.
    `hidden`: the rules of a second proxy between them, which the deployment file does not name.
    """
    proxy_port, engine_port, between_port = free_ports(3)
    shown = named or f"http://127.0.0.1:{engine_port}"
    script = {**QUICK, **({"fault": [{"do": fault}]} if fault else {})}
    (folder / "engine.json").write_text(json.dumps(script))
    (folder / "rules.toml").write_text(rules)
    (folder / "exonerate.toml").write_text(
        '[deployment]\nmodel = "scripted"\n'
        f'[[hop]]\nname = "edge"\nrole = "{role}"\nurl = "http://127.0.0.1:{proxy_port}"\n'
        f'[[hop]]\nname = "engine"\nrole = "engine"\nurl = "{shown}"\n' + VICTIM
    )
    engine = [
        sys.executable, "-m", "exonerate.lab.scripted_engine", "--port", str(engine_port),
        "--config", str(folder / "engine.json"),
    ]  # fmt: skip
    behind = between_port if hidden else engine_port
    proxy = _proxy_argv(folder, "rules.toml", proxy_port, behind)
    programs = [(proxy, proxy_port)] if down else [(engine, engine_port), (proxy, proxy_port)]
    if hidden:
        (folder / "hidden.toml").write_text(hidden)
        between = _proxy_argv(folder, "hidden.toml", between_port, engine_port)
        programs.insert(1, (between, between_port))
    with _all_started(folder, programs):
        yield


def _proxy_argv(folder: Path, rules: str, port: int, next_port: int) -> list[str]:
    return [
        sys.executable, "-m", "exonerate.lab.faulty_proxy", "--listen", f"127.0.0.1:{port}",
        "--upstream", f"http://127.0.0.1:{next_port}", "--rules", str(folder / rules),
    ]  # fmt: skip


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


def refuses(status: int, reply: str = "") -> str:
    """The rule of a box that answers everything itself."""
    said = f", reply = '{reply}'" if reply else ""
    return f'[[rule]]\ndo = {{ action = "refuse", status = {status}{said} }}\n'


def test_a_page_in_place_of_the_first_hop_accuses_nobody(tmp_path: Path) -> None:
    """Neither the box nor nobody: the engine's own answers show nothing of the path."""
    with path_of(tmp_path, rules=refuses(200, '{"status": "ok"}')):
        answer = located(tmp_path, blind=False, symptom="errors")
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    said = "answers 200 with JSON that is no completion"
    assert f"`edge`: {said}, always: it was not examined" in answer["not_examined"]
    assert "check its `url`" in answer["next"][0]


def test_who_refuses_everything_may_want_another_key(tmp_path: Path) -> None:
    """403 to all that is asked, while the engine answers: no size and no content shows as why."""
    with path_of(tmp_path, rules=refuses(403)):
        answer = located(tmp_path, blind=False, symptom="errors")
    assert (answer["outcome"], answer["faults"]) == ("insufficient_evidence", [])
    assert "`api_key_env`" in answer["next"][0]


def test_an_engine_that_only_we_cannot_reach_leaves_its_path_judged(tmp_path: Path) -> None:
    """The proxy reaches it, and all that enters there is answered."""
    with path_of(tmp_path, named=f"http://127.0.0.1:{free_ports(1)[0]}"):
        answer = located(tmp_path, blind=False)
    assert (answer["outcome"], answer["faults"]) == ("no_fault", [])
    assert [entry.get("hop") for entry in answer["cleared"]] == ["edge"]
    assert "`engine`: cannot be reached from here" in " ".join(answer["not_examined"])


def test_a_box_is_not_named_for_what_one_behind_it_may_do(tmp_path: Path) -> None:
    """A box that nobody named buffers; without root its sockets pass for those of the outer one."""
    with path_of(tmp_path, hidden='[[rule]]\ndo = { action = "buffer" }\n'):
        answer = located(tmp_path, blind=False, owned=False, symptom="slow")
    found = [(fault["layer"], fault["hops"]) for fault in answer["faults"]]
    assert found in ([], [("boundary", ["edge", "engine"])])
    assert "`edge`: its process may not be looked into here" in " ".join(answer["not_examined"])


def test_a_router_that_says_503_over_a_dead_worker_is_believed(tmp_path: Path) -> None:
    """Nobody listens at its only worker: its breaker is open for good reason."""
    with path_of(tmp_path, rules=refuses(503), down=True, role="router"):
        answer = located(tmp_path, blind=False, symptom="errors")
    assert [(f["class"], f["hops"]) for f in answer["faults"]] == [("engine-restart", ["engine"])]
    assert "ss -ltnp" in answer["next"][0]
