"""The process table of this host."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from exonerate.adapters.process_table import (
    ancestors,
    command_line,
    descendants,
    environment,
    family,
    identity_of,
    is_alive,
    is_listening,
    listening_pids,
    send_signal,
    working_folder,
)

SLEEPER = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own that waits for the end of its input."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER, "an argument"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"KNOB": "5 =6", "EMPTY": ""},
        cwd="/",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_process_shows_what_it_was_started_with(child: subprocess.Popen[bytes]) -> None:
    """Arguments, environment and folder are exact."""
    assert command_line(child.pid) == (sys.executable, "-c", SLEEPER, "an argument")
    seen = environment(child.pid)
    assert seen is not None
    assert (seen["KNOB"], seen["EMPTY"]) == ("5 =6", "")
    assert str(working_folder(child.pid)) == "/"
    assert next(ancestors(child.pid)) == os.getpid()
    assert child.pid in descendants(os.getpid())


def test_a_stranger_with_the_same_number_is_not_signalled(child: subprocess.Popen[bytes]) -> None:
    """The start time tells a reused pid apart."""
    identity = identity_of(child.pid)
    assert identity is not None
    stranger = replace(identity, start_ticks=identity.start_ticks - 1)
    assert not send_signal(stranger, signal.SIGKILL)
    assert not send_signal(replace(identity, boot_id="another"), signal.SIGKILL)
    assert family(stranger) == set()
    assert child.poll() is None
    assert send_signal(identity, signal.SIGKILL)
    child.wait()
    assert not is_alive(identity)
    assert not send_signal(identity, signal.SIGKILL)


def test_a_zombie_counts_as_ended(child: subprocess.Popen[bytes]) -> None:
    """A process that nobody reaped does not run any more."""
    identity = identity_of(child.pid)
    assert identity is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity_of(child.pid) is None


def test_an_orphan_stays_in_the_family_of_its_session() -> None:
    """A grandchild whose parent ended is still found."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 600 & echo $!; read line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with shell:
        assert shell.stdout is not None
        leader = identity_of(shell.pid)
        assert leader is not None
        orphan = int(shell.stdout.readline())
        assert family(leader) == {shell.pid, orphan}
        shell.kill()
    assert family(leader) == {orphan}
    identity = identity_of(orphan)
    assert identity is not None
    assert send_signal(identity, signal.SIGKILL)


def test_the_holder_of_a_port_is_found() -> None:
    """Listening sockets lead to their process, on IPv4 and IPv6."""
    for family_, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family_) as server:
            server.bind((host, 0))
            port = server.getsockname()[1]
            assert not is_listening(port)
            server.listen()
            assert is_listening(port)
            assert listening_pids(port) == {os.getpid()}


def test_what_does_not_exist_is_empty() -> None:
    """A pid that nobody has raises nothing."""
    gone = 2**22 - 1
    assert command_line(gone) == ()
    assert environment(gone) is None
    assert working_folder(gone) is None
    assert descendants(gone) == set()
    assert list(ancestors(gone)) == []
