"""`exonerate locate` as a user runs it, on a real engine behind a real proxy."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.lab_path import BUFFER, SWALLOW_THIRD, real_path
from tests.support.patience import PATIENCE_S, until


def exonerate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Exonerate in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "exonerate", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


def located(folder: Path, *words: str) -> tuple[int, Any]:
    """Exit status and answer of `locate --json`."""
    done = exonerate(folder, "locate", "--json", "--seed", "3", "--budget", "150s", *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def known(folder: Path, *words: str) -> tuple[int, Any]:
    """The same, asked again where the host had too little time to show anything."""
    for _ in range(6):
        status, answer = located(folder, *words)
        if answer["outcome"] != "insufficient_evidence":
            break
        assert (status, answer["faults"]) == (3, [])
    return status, answer


@pytest.mark.timeout(600)
def test_the_swallowing_proxy_is_convicted_and_the_verdict_can_be_recomputed(
    tmp_path: Path,
) -> None:
    """Box, class, scope and count; engine cleared; one changed byte in the ledger is found."""
    with real_path(tmp_path, SWALLOW_THIRD):
        status, answer = known(tmp_path, "--symptom", "hang")
    assert (status, answer["outcome"]) == (1, "fault"), answer["paragraph"]
    fault = answer["faults"][0]
    assert (fault["hops"], fault["class"]) == (["edge"], "drops-requests")
    assert fault["details"]["after_requests"] == 2
    assert fault["details"]["scope"] == "socket"
    assert "engine" in {item.get("hop") for item in answer["cleared"]}
    verified = exonerate(tmp_path, "case", "verify", "--json")
    assert verified.returncode == 0, verified.stdout
    assert {verdict["same"] for verdict in json.loads(verified.stdout)["verdicts"]} == {True}
    change_one_byte(tmp_path / ".exonerate" / "ledger.db")
    broken = exonerate(tmp_path, "case", "verify", "--json")
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["chain"] == "broken"


@pytest.mark.timeout(600)
def test_a_healthy_path_accuses_nobody(tmp_path: Path) -> None:
    """Exit status 0, nobody named, and everybody cleared."""
    with real_path(tmp_path):
        status, answer = known(tmp_path)
    assert (status, answer["outcome"], answer["faults"]) == (0, "no_fault", [])
    assert {item.get("hop") for item in answer["cleared"]} == {"edge", "engine"}


@pytest.mark.timeout(600)
def test_a_buffering_proxy_is_never_taken_for_another_fault(tmp_path: Path) -> None:
    """Where the tokens of the engine are spread in time and those of the proxy are not."""
    with real_path(tmp_path, BUFFER):
        _, answer = located(tmp_path)
    assert [f["class"] for f in answer["faults"]] in ([], ["buffering"])
    assert all("edge" in f["hops"] for f in answer["faults"])


def test_without_a_deployment_file_the_way_out_is_named(tmp_path: Path) -> None:
    """Status 2, and what to do."""
    done = exonerate(tmp_path, "locate")
    assert done.returncode == 2
    assert "exonerate init" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_sends_nothing_and_writes_nothing(tmp_path: Path) -> None:
    """URLs that nobody listens on will do; no ledger appears."""
    done = exonerate(tmp_path, "locate", "127.0.0.1:9", "127.0.0.1:10", "--model", "m", "--dry-run")
    assert done.returncode == 0
    assert "requests" in done.stdout
    for kind in ("victim", "content", "abort", "axis", "beats", "walk", "edge"):
        assert f"  {kind}: up to " in done.stdout
    assert "--gentle would leave out" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_what_being_gentle_leaves_out(tmp_path: Path) -> None:
    """Beats and edge are not sent, and fewer requests in all."""
    argv = ("locate", "127.0.0.1:9", "127.0.0.1:10", "--model", "m", "--dry-run", "--json")
    usual = json.loads(exonerate(tmp_path, *argv).stdout)
    gentle = json.loads(exonerate(tmp_path, *argv, "--gentle").stdout)
    assert {s["kind"] for s in usual["scenes"]} - {s["kind"] for s in gentle["scenes"]} == {
        "beats",
        "edge",
    }
    assert gentle["requests_max"] < usual["requests_max"]
    assert gentle["in_flight_max"] <= usual["in_flight_max"]
    assert [line for line in gentle["gentle_leaves_out"] if line.startswith("beats: ")]


def test_the_same_url_twice_is_refused(tmp_path: Path) -> None:
    """A hop cannot be compared with itself."""
    done = exonerate(tmp_path, "locate", "127.0.0.1:9", "127.0.0.1:9", "--model", "m")
    assert done.returncode == 2
    assert "twice" in done.stderr


def test_dead_hops_are_an_observation_and_accuse_nobody(tmp_path: Path) -> None:
    """Nobody listens anywhere: what is down is said, no box is blamed for it."""
    status, answer = located(tmp_path, "127.0.0.1:9", "127.0.0.1:10", "--model", "m")
    assert status in (1, 3)
    assert all(fault["layer"] == "engine" for fault in answer["faults"])


def test_ctrl_c_ends_at_once_and_leaves_a_ledger_that_verifies(tmp_path: Path) -> None:
    """Status 130; what had been seen is on record."""
    with real_path(tmp_path, SWALLOW_THIRD):
        process = subprocess.Popen(
            [sys.executable, "-m", "exonerate", "locate", "--json"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        ledger = tmp_path / ".exonerate" / "ledger.db"
        until(lambda: planned(ledger) or process.poll() is not None, "the first scene")
        assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert exonerate(tmp_path, "case", "verify").returncode == 0


def planned(ledger: Path) -> bool:
    """Whether the first scene is on record."""
    if not ledger.exists():
        return False
    try:
        with sqlite3.connect(ledger) as connection:
            query = "select count(*) from exonerate_record where kind = 'scene_planned'"
            return bool(connection.execute(query).fetchone()[0])
    except sqlite3.Error:
        return False


def change_one_byte(ledger: Path) -> None:
    """Alter one digit of what was seen."""
    with sqlite3.connect(ledger) as connection:
        connection.execute(
            "update exonerate_record set body = replace(body, '\"round\":2', '\"round\":3') "
            "where kind = 'scene_played'"
        )
    connection.close()
