"""The processes of this host as /proc shows them (proc_pid_stat(5), proc_pid_environ(5)).

A pid alone names nobody: it is reused. A `ProcessIdentity` is the pid with the time the process
started and the boot it started in, so a stranger with the same number is told apart.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_LISTEN_STATE = "0A"
# Fields of /proc/PID/stat behind the name in parentheses, counted from the state (field 3).
_STATE, _PPID, _SESSION, _START = 0, 1, 3, 19


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, told apart from any other that ever has the same pid."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """What /proc/PID/stat says of a process that has not ended."""

    pid: int
    parent: int
    session: int
    start_ticks: int


def boot_id() -> str:
    """The identity of this boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def identity_of(pid: int) -> ProcessIdentity | None:
    """The identity of a living process, or None when there is none (a zombie counts as none)."""
    row = _row(pid)
    return None if row is None else ProcessIdentity(pid, row.start_ticks, boot_id())


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether this very process still lives."""
    return identity_of(identity.pid) == identity


def living() -> list[ProcessRow]:
    """Every process that has not ended."""
    rows = (_row(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [row for row in rows if row is not None]


def descendants(pid: int, rows: Iterable[ProcessRow] | None = None) -> set[int]:
    """The process and everything it started, as long as the parents live."""
    children: dict[int, list[int]] = {}
    alive: set[int] = set()
    for row in living() if rows is None else rows:
        children.setdefault(row.parent, []).append(row.pid)
        alive.add(row.pid)
    found: set[int] = set()
    waiting = [pid] if pid in alive else []
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(children.get(one, ()))
    return found


def family(leader: ProcessIdentity) -> set[int]:
    """The descendants of a session's leader and every process left in its session.

    A grandchild whose parent died belongs to init, but it is still in the session.
    """
    present = identity_of(leader.pid)
    if leader.boot_id != boot_id() or (present is not None and present != leader):
        # Linux gives a number out again only when no session of that number is left.
        return set()
    rows = living()
    return descendants(leader.pid, rows) | {r.pid for r in rows if r.session == leader.pid}


def ancestors(pid: int) -> Iterator[int]:
    """The parents of a process, nearest first."""
    seen: set[int] = set()
    row = _row(pid)
    while row is not None and row.parent > 0 and row.parent not in seen:
        seen.add(row.parent)
        yield row.parent
        row = _row(row.parent)


def command_line(pid: int) -> tuple[str, ...]:
    """The argument vector; empty when it cannot be read."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(part) for part in raw.rstrip(b"\0").split(b"\0")) if raw else ()


def environment(pid: int) -> dict[str, str] | None:
    """The environment the process was started with; None when it cannot be read."""
    try:
        raw = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (os.fsdecode(item).partition("=") for item in raw.split(b"\0") if item)
    return {name: value for name, _, value in pairs}


def working_folder(pid: int) -> Path | None:
    """Where the process works; None when it cannot be read."""
    try:
        return (_PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None


def listening_pids(port: int) -> set[int]:
    """The processes that hold a listening TCP socket on the port (as far as we may look)."""
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not wanted:
        return set()
    return {row.pid for row in living() if _holds(row.pid, wanted)}


def is_listening(port: int) -> bool:
    """Whether anybody listens on the TCP port."""
    return bool(_listening_inodes(port))


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal this very process and no stranger; False when it has ended."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        # The descriptor pins the process, so checking it after opening cannot race.
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def _row(pid: int) -> ProcessRow | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name may hold blanks and parentheses, so the fields begin behind the last one.
    fields = text.rpartition(")")[2].split()
    if not fields or fields[_STATE] in "ZX":
        return None
    numbers = [int(fields[index]) for index in (_PPID, _SESSION, _START)]
    return ProcessRow(pid, *numbers)


def _listening_inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            local_port = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == _LISTEN_STATE and local_port == port:
                inodes.add(fields[9])
    return inodes


def _holds(pid: int, links: set[str]) -> bool:
    try:
        descriptors = list((_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False
    return any(_link(descriptor) in links for descriptor in descriptors)


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
