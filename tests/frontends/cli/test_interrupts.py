"""Ctrl-C and its relatives, sent to real programs: the work ends, the clean-up does not."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BEGINNING = """
import asyncio, sys, time
from exonerate.frontends.cli import main
import click

def say(text):
    print(text, flush=True)

@main.cli.command("play")
def play():
"""
WORK_ASYNC = """
    from exonerate.frontends.cli.interrupts import run_async
    async def work():
        try:
            say("working")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.5)
            say("cleaned up")
    run_async(work())
    say("went on")
"""
WORK_SYNC = """
    try:
        say("working")
        time.sleep(60)
    finally:
        time.sleep(0.5)
        say("cleaned up")
"""
WORK_THAT_BREAKS = """
    from exonerate.frontends.cli.interrupts import run_async
    async def work():
        try:
            say("working")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("cleaned up")
            raise ZeroDivisionError("torn down")
    run_async(work())
"""
WORK_THAT_JUST_ENDED = """
    from exonerate.frontends.cli.interrupts import run_async
    async def work():
        say("working")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("cleaned up")
    run_async(work())
    say("went on")
"""
WORK_WITH_A_LONG_CLEAN_UP = """
    from exonerate.frontends.cli.interrupts import run_async
    from pathlib import Path
    async def work():
        try:
            say("working")
            await asyncio.sleep(60)
        finally:
            say("cleaning up")
            for _ in range(10_000):
                if Path(sys.argv[1]).exists():
                    break
                await asyncio.sleep(0.01)
            say("cleaned up")
    run_async(work())
    say("went on")
"""
WORK_WITH_A_LONG_CLEAN_UP_SYNC = """
    from pathlib import Path
    try:
        say("working")
        time.sleep(60)
    finally:
        say("cleaning up")
        for _ in range(10_000):
            if Path(sys.argv[1]).exists():
                break
            time.sleep(0.01)
        say("cleaned up")
"""
WORKS = {
    "async": WORK_ASYNC,
    "sync": WORK_SYNC,
    "breaks": WORK_THAT_BREAKS,
    "just ended": WORK_THAT_JUST_ENDED,
}
LONG = {"async": WORK_WITH_A_LONG_CLEAN_UP, "sync": WORK_WITH_A_LONG_CLEAN_UP_SYNC}
WORK_CUT_SHORT = """
    from exonerate.frontends.cli.interrupts import run_async
    async def work():
        say("working")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "what was seen so far"
    say(run_async(work(), may_be_cut_short=True))
    return 130
"""
ENDING = """
main.COMMANDS["play"] = ("__main__:play", "")
main.main(["play"])
"""


class Played:
    """A command that is working."""

    def __init__(self, folder: Path, work: str, *wrapper: str) -> None:
        script = folder / "play_a_command.py"
        script.write_text(BEGINNING + work + ENDING)
        self.enough = folder / "enough"
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, str(script), str(self.enough)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "working\n"

    def ended(self) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        out, err = self.process.communicate(timeout=100)
        return self.process.returncode, out, err


@pytest.mark.parametrize("work", list(WORKS))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_any_work_cleanly(tmp_path: Path, work: str, number: signal.Signals) -> None:
    """Cleaned up, exit status 130, and no traceback even where the tear-down itself fails."""
    command = Played(tmp_path, WORKS[work])
    command.process.send_signal(number)
    status, out, err = command.ended()
    assert (status, out, err.strip()) == (130, "cleaned up\n", "")


@pytest.mark.parametrize("work", list(LONG))
def test_an_impatient_second_ctrl_c_does_not_break_the_clean_up(tmp_path: Path, work: str) -> None:
    """However often it is pressed, the clean-up ends; the user is told once that it goes on."""
    command = Played(tmp_path, LONG[work])
    stdout, stderr = command.process.stdout, command.process.stderr
    assert stdout is not None
    assert stderr is not None
    command.process.send_signal(signal.SIGINT)
    assert stdout.readline() == "cleaning up\n"
    command.process.send_signal(signal.SIGINT)
    assert "ending what was started" in stderr.readline() + stderr.readline()
    for _ in range(4):
        command.process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    command.enough.touch()
    status, out, err = command.ended()
    assert (status, out, err.strip()) == (130, "cleaned up\n", "")


def test_work_may_answer_a_signal_with_what_it_has(tmp_path: Path) -> None:
    """A benchmark that is cut short still shows what it measured."""
    command = Played(tmp_path, WORK_CUT_SHORT)
    command.process.send_signal(signal.SIGINT)
    assert command.ended() == (130, "what was seen so far\n", "")


def test_a_command_under_nohup_survives_the_terminal(tmp_path: Path) -> None:
    """A hang-up that was ignored at the start stays ignored; Ctrl-C still ends it."""
    command = Played(tmp_path, WORK_SYNC, "nohup")
    command.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        command.process.wait(0.3)
    command.process.send_signal(signal.SIGINT)
    assert command.ended()[0] == 130
