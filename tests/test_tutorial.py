"""The tutorial, run as it stands: the same files and commands, the exit statuses it states."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from exonerate.lab.processes import free_ports

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATED = re.compile(r"\s+# exit status (\d)$")
PORTS = ("18080", "18081")
COMMAND_LIMIT_S = 200


@pytest.mark.engine
@pytest.mark.timeout(900)
def test_tutorial_can_be_followed(tmp_path: Path) -> None:
    """Every file and command of the tutorial, in order, ends as the page says it does."""
    text = PAGE.read_text()
    for fixed, free in zip(PORTS, free_ports(len(PORTS)), strict=True):
        text = text.replace(fixed, str(free))
    done = 0
    with _cleaned_up(tmp_path):
        for language, file, block in FENCE.findall(text):
            if file:
                (tmp_path / file).write_text(block)
            elif language == "sh":
                for line in block.splitlines():
                    _run(line, tmp_path)
                    done += 1
        report = (tmp_path / "report.html").read_text()
    assert done > 20
    assert "drops-requests" in report
    assert "export LLAMA_ARG_UBATCH=512" in (tmp_path / "serve_engine.sh").read_text()


def _run(line: str, folder: Path) -> None:
    stated = STATED.search(line)
    expected = int(stated[1]) if stated else 0
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    # A program that is left in the background must not keep a pipe of ours open: a file instead.
    with (folder / "said.txt").open("w+") as said:
        ended = subprocess.run(
            ["bash", "-c", line], cwd=folder, env=environ, check=False,
            stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=COMMAND_LIMIT_S,
        )  # fmt: skip
        said.seek(0)
        assert ended.returncode == expected, f"{line}\n{said.read()}"


@contextmanager
def _cleaned_up(folder: Path) -> Iterator[None]:
    """Whatever happens, no engine and no proxy of the folder is left."""
    try:
        yield
    finally:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cwd").resolve() == folder.resolve():
                    os.kill(int(process.name), signal.SIGKILL)
