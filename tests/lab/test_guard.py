"""The guard of a play: nothing is left, whatever happens to the director."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.patience import PATIENCE_S, until

from exonerate.lab.guard import MARK, guarded

DIRECTOR = """
import pathlib, subprocess, sys, time
from exonerate.lab.guard import guarded
folder = pathlib.Path(sys.argv[1])
with guarded(folder):
    # A service in a session of its own, with a grandchild, that ignores SIGTERM and SIGHUP.
    script = "trap '' TERM HUP INT; sleep 300 & echo $$ $!; wait"
    service = subprocess.Popen(
        ["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    print(service.stdout.readline(), end="", flush=True)
    if sys.argv[2] == "stay":
        time.sleep(300)
"""


def directed(folder: Path, ending: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A director at work, and the processes it started."""
    director = subprocess.Popen(
        [sys.executable, "-c", DIRECTOR, str(folder), ending], stdout=subprocess.PIPE, text=True
    )
    assert director.stdout is not None
    return director, [int(pid) for pid in director.stdout.readline().split()]


def alive(pids: list[int]) -> list[int]:
    """Those that still run."""
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            continue
        if state not in "ZX":
            found.append(pid)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_director_that_dies_leaves_no_process_and_no_folder(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Also by SIGKILL: services in their own session, grandchildren and the folder are gone."""
    folder = tmp_path / "play"
    folder.mkdir()
    director, pids = directed(folder, "stay")
    with director:
        assert len(alive(pids)) == 2
        director.send_signal(number)
    until(lambda: not alive(pids), "the end of all processes")
    until(lambda: not folder.exists(), "the end of the folder")


def test_nothing_is_left_at_an_ordinary_end(tmp_path: Path) -> None:
    """A service that nobody stopped does not outlive the play."""
    folder = tmp_path / "play"
    folder.mkdir()
    director, pids = directed(folder, "leave")
    with director:
        assert director.wait(PATIENCE_S) == 0
    assert alive(pids) == []
    assert not folder.exists()


def test_what_the_play_did_not_start_is_left_alone(tmp_path: Path) -> None:
    """A process from before lives on, a kept folder stays, and the mark is taken back."""
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            with guarded():
                assert MARK in os.environ
            assert MARK not in os.environ
            assert bystander.poll() is None
        finally:
            bystander.kill()
    assert tmp_path.exists()
