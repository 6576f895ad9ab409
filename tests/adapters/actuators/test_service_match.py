"""Recognising what a start command became."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from exonerate.adapters.actuators.service_match import StartPattern

WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
SCRIPT = f"""#!/bin/bash
export KNOB=5
exec {sys.executable} wait.py --level 3 --name "$NAME" --port 1 --more 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A deployment folder."""
    (tmp_path / "wait.py").write_text(WAIT)
    (tmp_path / "serve.sh").write_text(SCRIPT)
    (tmp_path / "serve.sh").chmod(0o755)
    return tmp_path


@contextmanager
def running(folder: Path, *command: str) -> Iterator[int]:
    """A running process."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize(
    ("start", "command", "matches"),
    [
        (("./serve.sh",), ("./serve.sh",), True),
        ((sys.executable, "wait.py", "-x"), (sys.executable, "wait.py", "-x"), True),
        ((sys.executable, "wait.py", "-x"), (sys.executable, "wait.py", "-y"), False),
        (("./serve.sh",), (sys.executable, "wait.py", "--level", "3"), False),
        (
            ("./serve.sh",),
            (
                sys.executable,
                *["wait.py", "--level", "4", "--name", "x", "--port", "1", "--more", "2"],
            ),
            True,
        ),
        (("./missing.sh",), (sys.executable, "wait.py"), False),
    ],
)
def test_a_process_is_what_start_or_its_last_command_says(
    folder: Path, start: tuple[str, ...], command: tuple[str, ...], matches: bool
) -> None:
    """One changed flag is the same service; another program, or half of the words, is not."""
    with running(folder, *command) as pid:
        assert StartPattern(start, folder).matches(pid) == matches


def test_only_a_shell_that_runs_the_script_is_a_launcher(folder: Path) -> None:
    """The program itself is none, although it was started by the script."""
    pattern = StartPattern(("./serve.sh",), folder)
    with running(folder, "./serve.sh") as pid:
        assert not pattern.is_launcher(pid)
    (folder / "serve.sh").write_text(SCRIPT.replace("exec ", ""))
    with running(folder, "./serve.sh") as pid:
        assert pattern.is_launcher(pid)
