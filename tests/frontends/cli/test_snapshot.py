"""`exonerate snapshot` as a user runs it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.main import cli


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Exit status of the command in a folder."""
    monkeypatch.chdir(folder)
    status = cli.main(["snapshot", *words], standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_unread_bytes_are_a_finding_and_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1, the classes that it fits, evidence in a case, and nobody convicted."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        server.accept()[0] as peer,
    ):
        peer.sendall(b"x" * 700)
        status = run(tmp_path, monkeypatch, "--json", "--pid", str(os.getpid()))
    answer = json.loads(capsys.readouterr().out)
    assert status == 1
    assert answer["verdict"] is None
    assert any("client-deadlock" in found["fits"] for found in answer["suggestions"])
    assert cli.main(["case", "show", "--json"], standalone_mode=False) == 0
    assert answer["evidence"] in capsys.readouterr().out


def test_the_text_says_that_one_look_convicts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process is shown with what its threads wait in."""
    run(tmp_path, monkeypatch, "--pid", str(os.getpid()))
    said = capsys.readouterr().out
    assert f"process {os.getpid()}" in said
    assert "One look convicts nobody" in said


def test_nothing_to_look_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a process nor a deployment file: the hint names both."""
    with pytest.raises(ExonerateError) as refused:
        run(tmp_path, monkeypatch)
    assert "--pid" in refused.value.hint


def test_packets_without_a_path_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the ports of hops that are watched, and nobody else's."""
    with pytest.raises(ExonerateError) as refused:
        run(tmp_path, monkeypatch, "--pid", str(os.getpid()), "--packets")
    assert "-c FILE" in refused.value.hint


def test_the_gpus_of_this_host_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what holds them down. No GPU is needed: a script stands in for `nvidia-smi`."""
    tool = tmp_path / "nvidia-smi"
    reasons = "clocks_event_reasons.hw_thermal_slowdown"
    names = f"index, pci.bus_id, temperature.gpu, utilization.gpu [%], {reasons}"
    row = "0, 00000000:65:00.0, 93, 12 %, Active"
    tool.write_text(f"#!/bin/sh\necho '{names}'\necho '{row}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(tmp_path, monkeypatch, "--pid", str(os.getpid())) == 1
    said = capsys.readouterr().out
    assert "GPU 0 (65:00): 93 degrees, 12% busy, too hot (hardware)" in said
    assert "its clocks are held down at 93 degrees" in said
