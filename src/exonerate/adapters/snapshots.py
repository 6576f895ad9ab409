"""Looks at processes and hops of this host twice, without a request to anybody.

Everything is read from the kernel and from files that the operator named. Two looks, a moment
apart, tell what moves from what stands still. Where py-spy is installed, Python stacks are read
with `--nonblocking`, which stops nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from exonerate.adapters.address import parse_address
from exonerate.adapters.clock import SystemClock
from exonerate.adapters.gpus import gpu_tool, kernel_messages, read_gpus
from exonerate.adapters.packet_capture import StandingCapture
from exonerate.adapters.process_sockets import socket_inodes
from exonerate.adapters.process_table import command_line, descendants, listening_pids
from exonerate.adapters.process_watch import (
    cpu_s,
    kernel_stack,
    open_files,
    threads_of,
)
from exonerate.adapters.sockets import SocketRow, tcp_sockets
from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.gpu_readings import gpu_to_json, kernel_to_json
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.wire.packets.seen import capture_to_json

APART_S = 1.0
LOG_BYTES_MAX = 64 * 1024
LOG_LINES = 40
SOCKETS_MAX = 200
STACK_LINES_MAX = 60
STACK_TIMEOUT_S = 5.0
MESSAGES_MAX = 50
LISTEN = "LISTEN"


def take_snapshot(
    hops: Sequence[Hop],
    pids: Sequence[int],
    *,
    apart_s: float = APART_S,
    capture: StandingCapture | None = None,
) -> JsonObject:
    """Both looks; `apart_s` seconds lie between them, in which packets are captured if wanted."""
    owners = {pid: ["given"] for one in pids for pid in sorted(descendants(one))}
    missing: list[Json] = [f"process {pid} does not exist" for pid in pids if pid not in owners]
    for hop in hops:
        for pid in sorted(listening_pids(parse_address(hop.url).port)):
            owners.setdefault(pid, []).append(hop.name)
    first, blind = _rows()
    begun = {pid: cpu_s(pid) for pid in owners}
    begun_ns = time.monotonic_ns()
    passed = None if capture is None else capture_to_json(capture.look(apart_s))
    if passed is None:
        time.sleep(apart_s)
    second, _ = _rows()
    lasted_s = (time.monotonic_ns() - begun_ns) / 1e9
    missing += blind
    return {
        "schema": "exonerate.snapshot/1",
        "apart_s": round(lasted_s, 3),
        "processes": [
            _process(pid, names, (first, second), (cpu_s(pid) - begun[pid]) / lasted_s)
            for pid, names in owners.items()
        ],
        "hops": [_hop(hop, second, owners) for hop in hops],
        "packets": passed,
        **_gpus(),
        "not_seen": missing,
    }


def _gpus() -> JsonObject:
    """This host's GPUs and what its kernel said of them; nothing where there is no tool for it."""
    tool = gpu_tool()
    if tool is None:
        return {}
    reading = read_gpus(tool)
    said, unread = kernel_messages()
    now = SystemClock().now()
    looked: JsonObject = {
        "gpus": [gpu_to_json(gpu) for gpu in reading.gpus],
        "error": reading.error,
        "kernel": [kernel_to_json(one, now) for one in said[-MESSAGES_MAX:]],
        "kernel_unread": unread,
    }
    return {"gpus": looked}


def _rows() -> tuple[list[SocketRow], list[Json]]:
    try:
        return tcp_sockets(), []
    except OSError as error:
        return [], [f"the sockets of this host: {error.strerror}"]


def _process(
    pid: int,
    names: Sequence[str],
    looks: tuple[Sequence[SocketRow], Sequence[SocketRow]],
    cpu_share: float,
) -> JsonObject:
    inodes = socket_inodes([pid])
    before = {_ends(row): row for row in looks[0]}
    own = [row for row in looks[1] if row.inode in inodes and row.state != LISTEN]
    files = open_files(pid)
    argv = command_line(pid)
    return {
        "pid": pid,
        "is": list(names),
        "program": Path(argv[0]).name if argv else None,
        "cpu_share": round(max(0.0, cpu_share), 3),
        "open_files": files[0] if files else None,
        "open_files_limit": files[1] if files else None,
        "threads": list(threads_of(pid)),
        "kernel_stack": list(kernel_stack(pid)),
        "stack": list(_python_stack(pid, argv)),
        "sockets": [_socket(row, before.get(_ends(row))) for row in own[:SOCKETS_MAX]],
    }


def _ends(row: SocketRow) -> tuple[str, int, str, int]:
    return row.local, row.local_port, row.peer, row.peer_port


def _lasting(row: SocketRow) -> SocketRow:
    """The row without what changes by the passing of time alone."""
    return replace(row, rtt_s=None, last_ack_age_s=None)


def _socket(row: SocketRow, before: SocketRow | None) -> JsonObject:
    facts: dict[str, Json] = {name: value for name, value in asdict(row).items() if name != "inode"}
    facts["stood_still"] = before is not None and _lasting(before) == _lasting(row)
    return facts


def _hop(hop: Hop, rows: Sequence[SocketRow], owners: Mapping[int, Sequence[str]]) -> JsonObject:
    port = parse_address(hop.url).port
    listeners = [row for row in rows if row.state == LISTEN and row.local_port == port]
    states = Counter(row.state for row in rows if row.state != LISTEN and row.local_port == port)
    return {
        "hop": hop.name,
        "port": port,
        "pids": [pid for pid, names in owners.items() if hop.name in names],
        "listens_here": bool(listeners),
        # Of a listening socket the kernel reports the accept queue and its limit in these places.
        "accept_queue": sum(row.unread_bytes for row in listeners),
        "accept_queue_limit": sum(row.unsent_bytes for row in listeners),
        "connections": dict(states),
        "log_tail": list(_tail(hop.log)),
    }


def _tail(log: str | None) -> list[str]:
    if log is None:
        return []
    try:
        with Path(log).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LOG_BYTES_MAX))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return [f"(cannot be read: {error.strerror})"]
    return lines[-LOG_LINES:]


def _python_stack(pid: int, argv: Sequence[str]) -> list[str]:
    spy = shutil.which("py-spy")
    if spy is None or not argv or "python" not in Path(argv[0]).name:
        return []
    command = [spy, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=STACK_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines()[:STACK_LINES_MAX]
