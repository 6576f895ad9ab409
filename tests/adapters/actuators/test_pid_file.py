"""The file that names the process of a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.adapters.actuators.pid_file import read_pid_file, write_pid_file
from exonerate.adapters.process_table import ProcessIdentity


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """The identity comes back whole and nothing else is left in the folder."""
    path = tmp_path / "run" / "engine.json"
    identity = ProcessIdentity(7, 123456, "boot")
    write_pid_file(path, identity)
    assert read_pid_file(path) == identity
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": "x"}', "null"])
def test_a_damaged_file_names_nobody(tmp_path: Path, content: str) -> None:
    """No signal is sent on the word of half a file."""
    path = tmp_path / "engine.json"
    path.write_text(content)
    assert read_pid_file(path) is None
