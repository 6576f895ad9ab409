"""Asking before a change, and how its end becomes an exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.patience import until

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.knob_desk import confirm, ended


def test_a_yes_is_not_asked_for_again() -> None:
    """Nothing is even drawn up to be shown."""

    def never() -> str:
        raise AssertionError("shown")

    confirm("change it", never, yes=True)


def test_nobody_to_ask_is_a_refusal_with_the_way_out() -> None:
    """The hint names the dry run and the flag."""
    with CliRunner().isolation(), pytest.raises(ExonerateError, match="no terminal") as error:
        confirm("change it", lambda: "", yes=False)
    assert "--dry-run" in error.value.hint
    assert "--yes" in error.value.hint


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("committed", exit_status.DONE),
        ("rolled-back", exit_status.OPERATOR),
        ("rollback-failed", exit_status.OPERATOR),
        ("refused", exit_status.OPERATOR),
    ],
)
def test_only_a_committed_change_is_done(outcome: str, status: int) -> None:
    """Every other end needs the operator."""
    with CliRunner().isolation():
        assert ended({"outcome": outcome}, as_json=True) == status


ASKING = """
import click
from exonerate.frontends.cli import main
from exonerate.frontends.cli.knob_desk import confirm

@main.cli.command("ask")
def ask():
    confirm("change it", lambda: "the difference", yes=False)
    click.echo("changed")

main.COMMANDS["ask"] = ("__main__:ask", "")
main.main(["ask"])
"""


def sleeps(pid: int) -> bool:
    """Whether a process waits for something, and goes on waiting."""
    for _ in range(5):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("answer", ["no", "end of the input", "Ctrl-C"])
def test_whoever_does_not_say_yes_is_told_that_nothing_was_changed(
    tmp_path: Path, answer: str
) -> None:
    """Exit status 130, no traceback, whichever way the question is left."""
    script = tmp_path / "ask_on_a_terminal.py"
    script.write_text(ASKING)
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        shown = ""
        while "change it?" not in shown:
            shown += process.stderr.read(1)
        if answer == "Ctrl-C":
            # Python loses a signal in the instant before its read begins.
            until(lambda: sleeps(process.pid), "the question to wait for its answer")
            process.send_signal(signal.SIGINT)
        else:
            os.write(ours, b"n\n" if answer == "no" else b"\x04")
        out, err = process.communicate(timeout=100)
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, out) == (130, "")
    assert "nothing was changed" in err
    assert "Traceback" not in err
