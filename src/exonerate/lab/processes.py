"""Programs started and ended as one thing: the child, every descendant, whatever happens to us.

Theory of operation
-------------------
`start_program` starts two processes. The *guardian* is a shell that reads the read end of a pipe
whose write end only we hold; when we die in any way, even by SIGKILL, it reads the end of the file
and kills the child's process group. The *child* begins as a shell that waits for one line before
it becomes (`exec`, same pid) the program; we send the line only when the guardian knows the group.
So there is no moment at which a program runs unguarded. A parent-death signal would miss the
grandchildren, and would fire when the thread that started the child ends.

On leaving: SIGTERM to the group and to every descendant outside it, a grace period, then SIGKILL.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from exonerate.errors import ExonerateError

GATE = 'read -r go && exec "$@" </dev/null'
# `kill -9 "-$group"` is the one spelling that dash, bash and busybox all take for a group.
GUARDIAN = 'read -r group && { read -r end || kill -9 "-$group"; }'
POLL_S = 0.02
ANSWER_S = 2.0
GRACE_S = 3.0
KILL_WAIT_S = 60.0
PORTS_REMEMBERED_MAX = 5000
"""Far below the number of ephemeral ports, so that the search for a new one ends soon."""
LISTEN_STATE = "0A"  # TCP_LISTEN in /proc/net/tcp, see Linux include/net/tcp_states.h


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """When a program counts as started.

    `url` is ``http://...`` (must answer 200) or ``tcp://host:port`` (must listen; nothing is sent,
    so that a program which counts its connections sees none of ours).
    """

    url: str
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A started program; `pid` is the program itself and the leader of its process group."""

    pid: int
    log: Path
    _process: subprocess.Popen[bytes]

    def status(self) -> int | None:
        """The exit status, or None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """The exit status once it ends by itself, or None when it still runs after the time."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


@contextmanager
def start_program(
    argv: Sequence[str],
    *,
    log: Path,
    ready: Ready | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[RunningProgram]:
    """Start a program, wait until it is ready, and end it with all its descendants on leaving.

    Its output goes to `log`, which is appended to.

    Raises:
        ExonerateError: it ended, or was not ready in time.
    """
    with ExitStack() as stack:
        output = stack.enter_context(log.open("ab"))
        guardian = stack.enter_context(_guardian())
        process = subprocess.Popen(
            ["/bin/sh", "-c", GATE, "sh", *argv],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=None if environ is None else dict(environ),
            cwd=cwd,
            start_new_session=True,
        )
        stack.callback(_end, process)
        _say(guardian, f"{process.pid}\n")
        _say(process, "go\n")
        program = RunningProgram(process.pid, log, process)
        if ready is not None:
            _wait_ready(program, ready, argv)
        yield program


@contextmanager
def _guardian() -> Iterator[subprocess.Popen[bytes]]:
    guardian = subprocess.Popen(
        ["/bin/sh", "-c", GUARDIAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield guardian
    finally:
        # Killed before its pipe closes: the group is gone already and its number may be reused.
        guardian.kill()
        guardian.wait()
        _close_stdin(guardian)


def _say(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it ended already; the ready check says so
        process.stdin.write(line.encode())
        process.stdin.flush()


def _close_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()


def _wait_ready(program: RunningProgram, ready: Ready, argv: Sequence[str]) -> None:
    end = time.monotonic() + ready.timeout_s
    while not answers(ready.url):
        status = program.status()
        if status is not None:
            raise ExonerateError(
                f"`{' '.join(argv)}` ended with status {status} before it answered on {ready.url}"
                f"{_last_line(program.log)}",
                f"its whole output is in `{program.log}`",
            )
        if time.monotonic() > end:
            raise ExonerateError(
                f"`{' '.join(argv)}` did not answer on {ready.url} within {ready.timeout_s:g} s"
                f"{_last_line(program.log)}",
                f"its whole output is in `{program.log}`",
            )
        time.sleep(POLL_S)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def answers(url: str) -> bool:
    """Whether an ``http`` URL answers 200 now, or something listens at a ``tcp`` URL."""
    parts = urlsplit(url)
    assert parts.port is not None
    if parts.scheme == "tcp":
        return _listens(parts.port)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
    try:
        connection.request("GET", parts.path or "/")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _listens(port: int) -> bool:
    wanted = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(FileNotFoundError), Path(table).open() as rows:
            for fields in (row.split() for row in rows):
                if fields[1].endswith(wanted) and fields[3] == LISTEN_STATE:
                    return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group and whatever left it; the leader is reaped last, so its number stays ours."""
    family = [process.pid, *_descendants(process.pid)]
    _signal_all(process.pid, family, signal.SIGTERM)
    end = time.monotonic() + GRACE_S
    while time.monotonic() < end and _any_alive(family):
        time.sleep(POLL_S)
    _signal_all(process.pid, [*family, *_descendants(process.pid)], signal.SIGKILL)
    process.wait(KILL_WAIT_S)
    _close_stdin(process)


def _signal_all(group: int, family: Sequence[int], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
    for pid in family[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _descendants(pid: int) -> list[int]:
    parent_of = {child: parent for child, parent, _state in _process_table()}
    found = [pid]
    for ancestor in found:  # grows while it is walked: breadth first
        found.extend(child for child, parent in parent_of.items() if parent == ancestor)
    return found[1:]


def _any_alive(family: Sequence[int]) -> bool:
    return any(pid in family and state not in "ZX" for pid, _parent, state in _process_table())


def _process_table() -> list[tuple[int, int, str]]:
    rows = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # A process may end while it is looked at.
            with suppress(FileNotFoundError, ProcessLookupError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                rows.append((int(entry.name), int(after_name[1]), after_name[0]))
    return rows


_handed_out: set[int] = set()
_handing_out = threading.Lock()


def free_ports(count: int) -> list[int]:
    """Different loopback ports that were free just now, none of them twice in one process.

    Another process may take one before it is used.
    """
    with ExitStack() as stack, _handing_out:
        ports: list[int] = []
        while len(ports) < count:
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            port = int(listener.getsockname()[1])
            if port not in _handed_out or len(_handed_out) > PORTS_REMEMBERED_MAX:
                ports.append(port)
                _handed_out.add(port)
        return ports
