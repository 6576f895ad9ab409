"""Starting and ending programs: nothing may stay behind, however the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.patience import PATIENCE_S, until

from exonerate.errors import ExonerateError
from exonerate.lab.processes import Ready, answers, free_ports, start_program


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_program_answers_and_is_gone_afterwards(tmp_path: Path) -> None:
    """Inside the block the program answers; after it the process and its port are gone."""
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    ready = Ready(url=f"http://127.0.0.1:{port}/")
    with start_program(argv, log=tmp_path / "log", ready=ready) as program:
        command = Path(f"/proc/{program.pid}/cmdline").read_bytes().split(b"\0")
        assert command[0].decode() == sys.executable
        assert program.status() is None
    assert not alive(program.pid)
    assert not answers(f"tcp://127.0.0.1:{port}")


def test_descendants_end_even_when_they_ignore_sigterm(tmp_path: Path) -> None:
    """A grandchild in a session of its own that ignores SIGTERM ends too."""
    child = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "p = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "open(sys.argv[1], 'w').write(f'{p.pid}\\n')\n"
        "time.sleep(60)\n"
    )
    note = tmp_path / "grandchild"
    with start_program([sys.executable, "-c", child, str(note)], log=tmp_path / "log") as program:
        until(lambda: note.exists() and note.read_text().endswith("\n"), "the grandchild")
        grandchild = int(note.read_text())
        assert alive(grandchild)
    assert not alive(program.pid)
    until(lambda: not alive(grandchild), "the end of the grandchild")


def test_killed_parent_leaves_nothing(tmp_path: Path) -> None:
    """When the parent is killed with SIGKILL, its program and the program's child end."""
    note = tmp_path / "pids"
    parent = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from exonerate.lab.processes import start_program\n"
        'shell = \'sleep 60 & echo $$ $! > "$0.part"; mv "$0.part" "$0"; wait\'\n'
        "argv = ['/bin/sh', '-c', shell, sys.argv[1]]\n"
        "with start_program(argv, log=Path(sys.argv[1] + '.log')):\n"
        "    time.sleep(60)\n"
    )
    running = subprocess.Popen([sys.executable, "-c", parent, str(note)])
    until(note.exists, "the program and its child")
    program, child = map(int, note.read_text().split())
    assert alive(program)
    assert alive(child)
    os.kill(running.pid, signal.SIGKILL)
    running.wait(PATIENCE_S)
    until(lambda: not alive(program), "the end of the program")
    until(lambda: not alive(child), "the end of its child")


def test_program_that_ends_at_once_says_why(tmp_path: Path) -> None:
    """A program that ends before it is ready is reported with its status and its last words."""
    argv = ["/bin/sh", "-c", "echo 'no such model' >&2; exit 7"]
    ready = Ready(url="tcp://127.0.0.1:1")
    with (
        pytest.raises(ExonerateError, match=r"status 7 .*: no such model") as raised,
        start_program(argv, log=tmp_path / "log", ready=ready),
    ):
        pass
    assert str(tmp_path / "log") in raised.value.hint


def test_program_that_never_listens_is_ended(tmp_path: Path) -> None:
    """A program that is not ready in time is ended and named."""
    ready = Ready(url="tcp://127.0.0.1:1", timeout_s=0.1)
    with (
        pytest.raises(ExonerateError, match=r"within 0\.1 s"),
        start_program(["sleep", "60"], log=tmp_path / "log", ready=ready),
    ):
        pass


def test_free_ports_differ() -> None:
    """Ports handed out together are all different."""
    assert len(set(free_ports(20))) == 20
