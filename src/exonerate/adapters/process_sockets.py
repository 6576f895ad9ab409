"""Which processes of this host hold which sockets, from `/proc/PID/fd`.

Only processes of the same user can be looked into, unless we are root; what cannot be seen is
absent from the answers.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from exonerate.adapters.sockets import LISTENING, tcp_sockets

_SOCKET_LINK = re.compile(r"socket:\[(\d+)\]")
_PROC = Path("/proc")


def processes_listening_on(port: int) -> list[int]:
    """The processes that hold a listening socket of that port; empty where none can be seen."""
    try:
        inodes = {r.inode for r in tcp_sockets(states=LISTENING) if r.local_port == port}
    except OSError:
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return sorted(pid for pid in pids if inodes & socket_inodes([pid]))


def socket_inodes(pids: Iterable[int]) -> set[int]:
    """The inodes of every socket that these processes hold."""
    links = (link for pid in pids for link in _descriptors(pid))
    matches = (_SOCKET_LINK.fullmatch(link) for link in links)
    return {int(match.group(1)) for match in matches if match}


def _descriptors(pid: int) -> list[str]:
    """What each descriptor of a process leads to; one that is closed meanwhile is left out."""
    folder, found = f"{_PROC}/{pid}/fd", list[str]()
    try:
        # Ten times a second, for each hop: with paths as objects it costs more than twice as much.
        entries = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return found
    for entry in entries:
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"{folder}/{entry}"))  # noqa: PTH115
    return found
