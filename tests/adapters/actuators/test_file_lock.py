"""The lock beside a file that is going to be replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exonerate.adapters.actuators.file_lock import LockHeld, sidecar_lock


def test_a_lock_excludes_and_leaves_nothing(tmp_path: Path) -> None:
    """A second holder is refused at once; afterwards the sidecar is gone."""
    target = tmp_path / "serve.sh"
    with sidecar_lock(target):
        with pytest.raises(LockHeld), sidecar_lock(target):
            raise AssertionError("two holders")
        with sidecar_lock(tmp_path / "other.sh"):
            assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_dead_holder_is_taken_over(tmp_path: Path) -> None:
    """A kill leaves the sidecar but not the lock."""
    target = tmp_path / "serve.sh"
    pid = os.fork()
    if pid == 0:
        with sidecar_lock(target):
            os._exit(0)
    os.waitpid(pid, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with sidecar_lock(target):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_exception_inside_releases_the_lock(tmp_path: Path) -> None:
    """The next one may go on."""
    target = tmp_path / "serve.sh"
    with pytest.raises(ValueError, match="inside"), sidecar_lock(target):
        raise ValueError("inside")
    with sidecar_lock(target):
        pass
