"""Starts, stops and restarts services that are plain local processes.

A service that we start leads a session of its own, so everything it starts can be found again, and
its identity lies in `run/<service>.json`. One that was running before is found by the port of its
`ready` address and adopted only when its command line is what `start` would have given.

A stop ends only when no process of the service is left and its port is free.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from exonerate.adapters.actuators.pid_file import read_pid_file, write_pid_file
from exonerate.adapters.actuators.service_match import StartPattern
from exonerate.adapters.http_get import get_page
from exonerate.adapters.process_table import (
    ProcessIdentity,
    ancestors,
    command_line,
    descendants,
    family,
    identity_of,
    is_alive,
    is_listening,
    listening_pids,
    send_signal,
)
from exonerate.core.deployment.model import Service
from exonerate.core.instant import seconds_between
from exonerate.core.ports import Clock
from exonerate.errors import ExonerateError

STOP_GRACE_S = 20.0
KILL_WAIT_S = 10.0
POLL_S = 0.05
READY_POLL_S = 0.1
READY_REQUEST_S = 2.0
SETTLE_S = 0.5
"""A service without a `ready` address counts as ready when it has lived this long."""

_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""What this program started and did not reap yet: without it an ended child stays a zombie."""


class ServiceFailed(Exception):
    """The service did not start, become ready or stop; an observation, not a defect."""


@dataclass(frozen=True, slots=True)
class Started:
    """A service that is ready: its first process and how long it took."""

    pid: int
    ready_s: float
    log: Path


class ProcessServices:
    """The plain processes of one deployment; `state` is its `.exonerate` folder."""

    def __init__(self, *, folder: Path, state: Path, clock: Clock) -> None:
        self._folder = folder
        self._state = state
        self._clock = clock

    async def start(self, service: Service) -> Started:
        """Start the service and wait until it is ready; a running one is an ExonerateError."""
        if self.members(service):
            raise ExonerateError(
                f"`{service.name}` is running already", "stop it first, or restart it"
            )
        return await self._start(service)

    async def restart(self, service: Service) -> Started:
        """Stop it if it runs, start it, and wait until it is ready."""
        await self.stop(service)
        return await self._start(service)

    async def stop(self, service: Service, *, grace_s: float = STOP_GRACE_S) -> bool:
        """Stop the service; False when it did not run. Raises ServiceFailed when it stays."""
        members = self._identities(self.members(service))
        if not members:
            self._pid_file(service).unlink(missing_ok=True)
            return False
        for member in members:
            send_signal(member, signal.SIGTERM)
        if not await self._gone(service, grace_s):
            for member in self._identities(self.members(service)):
                send_signal(member, signal.SIGKILL)
            if not await self._gone(service, KILL_WAIT_S):
                left = ", ".join(map(str, sorted(self.members(service)))) or "none"
                raise ServiceFailed(f"`{service.name}` did not stop (processes left: {left})")
        self._pid_file(service).unlink(missing_ok=True)
        return True

    def members(self, service: Service) -> set[int]:
        """Every process of the service, ours or adopted; empty when it does not run.

        Raises:
            ExonerateError: its port is held by something that `start` does not start.
        """
        own = read_pid_file(self._pid_file(service))
        found = family(own) if own is not None else set()
        return found or self._adopted(service)

    def is_launcher(self, service: Service, pid: int) -> bool:
        """Whether a process is only the shell that runs the start script."""
        return StartPattern(service.start, self._folder).is_launcher(pid)

    def log_file(self, service: Service) -> Path:
        """Where the output of the service goes."""
        return self._state / "logs" / f"{service.name}.log"

    async def _start(self, service: Service) -> Started:
        if self._port_held(service):
            raise ExonerateError(
                f"the port of `{service.ready}` is in use by a process that may not be looked at",
                "stop that process, or run as the user that owns it",
            )
        begun = self._clock.now()
        child = self._spawned(service)
        _CHILDREN[child.pid] = child
        identity = identity_of(child.pid)
        if identity is not None:
            write_pid_file(self._pid_file(service), identity)
        try:
            await self._wait_ready(service, child)
        except BaseException:
            # Whatever ended the wait, Ctrl-C among it: nothing half started stays behind.
            self._kill(service)
            raise
        return Started(child.pid, seconds_between(begun, self._clock.now()), self.log_file(service))

    def _spawned(self, service: Service) -> subprocess.Popen[bytes]:
        log = self.log_file(service)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("ab") as output:
            try:
                return subprocess.Popen(
                    service.start,
                    cwd=self._folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise ServiceFailed(
                    f"`{service.start[0]}` could not be started: {error.strerror}"
                ) from error

    async def _wait_ready(self, service: Service, child: subprocess.Popen[bytes]) -> None:
        begun = self._clock.now()
        limit_s = service.ready_timeout_s if service.ready else SETTLE_S
        while seconds_between(begun, self._clock.now()) < limit_s:
            if child.poll() is not None and not self.members(service):
                log = self.log_file(service)
                raise ServiceFailed(
                    f"`{service.name}` ended with status {child.returncode}"
                    f" before it was ready; its output is in `{log}`"
                )
            if service.ready and await self._answers(service, service.ready):
                return
            await asyncio.sleep(READY_POLL_S)
        if service.ready:
            raise ServiceFailed(
                f"`{service.name}` was not ready within {limit_s:g} s ({service.ready})"
            )

    async def _answers(self, service: Service, ready: str) -> bool:
        """Whether the address answers well, and it is this service that listens there."""
        page = await get_page(ready, timeout_s=READY_REQUEST_S)
        if page.status is None or not 200 <= page.status < 400:
            return False
        holders = listening_pids(_port(ready))
        return not holders or bool(holders & self.members(service))

    def _kill(self, service: Service) -> None:
        own = read_pid_file(self._pid_file(service))
        for member in self._identities(family(own)) if own is not None else ():
            send_signal(member, signal.SIGKILL)
        self._pid_file(service).unlink(missing_ok=True)

    async def _gone(self, service: Service, limit_s: float) -> bool:
        begun = self._clock.now()
        while True:
            _reap()
            if not self.members(service) and not self._port_held(service):
                return True
            if seconds_between(begun, self._clock.now()) >= limit_s:
                return False
            await asyncio.sleep(POLL_S)

    def _port_held(self, service: Service) -> bool:
        return service.ready is not None and is_listening(_port(service.ready))

    def _adopted(self, service: Service) -> set[int]:
        if service.ready is None:
            return set()
        port = _port(service.ready)
        holders = listening_pids(port)
        if not holders:
            return set()
        pattern = StartPattern(service.start, self._folder)
        members: set[int] = set()
        for pid in sorted(holders):
            root = _root(pid, pattern)
            if root is not None:
                members |= descendants(root)
            elif command_line(pid):
                raise _stranger(service, port, pid)
            # One without a command line is ending: the kernel takes its memory before its sockets.
        return members

    def _identities(self, pids: Collection[int]) -> list[ProcessIdentity]:
        found = (identity_of(pid) for pid in sorted(pids) if pid != os.getpid())
        return [identity for identity in found if identity is not None and is_alive(identity)]

    def _pid_file(self, service: Service) -> Path:
        return self._state / "run" / f"{service.name}.json"


def _reap() -> None:
    for pid, child in list(_CHILDREN.items()):
        if child.poll() is not None:
            del _CHILDREN[pid]


def _root(pid: int, pattern: StartPattern) -> int | None:
    """The topmost process above (and with) `pid` that looks like the start command."""
    matching = [one for one in (pid, *ancestors(pid)) if pattern.matches(one)]
    return matching[-1] if matching else None


def _stranger(service: Service, port: int, pid: int) -> ExonerateError:
    shown = " ".join(command_line(pid)[:3]) or "unknown command"
    return ExonerateError(
        f"port {port} is held by process {pid} (`{shown}`),"
        f" which is not what `{service.name}` starts",
        "stop that process, or correct `start` or `ready` of the service",
    )


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
