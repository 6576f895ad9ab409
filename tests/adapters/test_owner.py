"""The mark of a process."""

from __future__ import annotations

import subprocess
import sys

from exonerate.adapters.owner import own_mark, owner_is_alive


def test_this_process_is_alive() -> None:
    """A process recognises its own mark."""
    assert owner_is_alive(own_mark())


def test_an_ended_process_is_not() -> None:
    """The mark of a process that has ended is dead, also when its pid is used again."""
    code = "from exonerate.adapters.owner import own_mark; print(own_mark())"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert not owner_is_alive(ended)
    host, pid, _, boot = own_mark().rsplit(" ", 3)
    assert not owner_is_alive(f"{host} {pid} 1 {boot}")


def test_a_process_of_another_host_is_left_alone() -> None:
    """Nothing is known of another host, so its process counts as alive."""
    _, pid, start, boot = own_mark().rsplit(" ", 3)
    assert owner_is_alive(f"elsewhere {pid} {start} {boot}")
