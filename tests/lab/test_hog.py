"""A noisy neighbour: it takes processor time, and nothing of it stays."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.patience import until

from exonerate.lab.processes import start_program


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_it_computes_in_so_many_processes_and_ends_them(tmp_path: Path) -> None:
    """Two processes run on the named processor while it lives, and none afterwards."""
    argv = [sys.executable, "-m", "exonerate.lab.hog", "--count", "2", "--cpu", "0"]
    with start_program(argv, log=tmp_path / "log") as program:
        until(lambda: "2 processes compute" in (tmp_path / "log").read_text(), "its word")
        assert program.status() is None
        children = _children(program.pid)
        allowed = [Path(f"/proc/{child}/status").read_text() for child in children]
        assert len(children) == 2
        assert all("Cpus_allowed_list:\t0\n" in status for status in allowed)
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "their end")
