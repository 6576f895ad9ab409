"""Restarts services that are systemd units, by `systemctl` with fixed arguments.

Rules (systemctl(1), org.freedesktop.systemd1(5))
------------------------------------------------
1. `daemon-reload` before every restart: without it the old unit in memory is started again.
2. `NeedDaemonReload` must then be `no`.
3. After the restart the unit must be active with another `InvocationID` and a main process.
4. A unit that keeps failing is given up before `StartLimitBurst` locks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from exonerate.adapters.actuators.process_service import (
    READY_POLL_S,
    READY_REQUEST_S,
    ServiceFailed,
    Started,
)
from exonerate.adapters.http_get import get_page
from exonerate.core.deployment.model import Service
from exonerate.core.instant import seconds_between
from exonerate.core.ports import Clock
from exonerate.errors import ExonerateError

PROPERTIES = (
    *("ActiveState", "SubState", "Result", "MainPID", "InvocationID", "NRestarts"),
    *("NeedDaemonReload", "ControlGroup", "FragmentPath", "DropInPaths", "Environment"),
    *("EnvironmentFiles", "LoadState"),
)
COMMAND_LIMIT_S = 120.0
RESTARTS_MAX = 3
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended."""

    status: int
    output: str


RunCommand: TypeAlias = Callable[[Sequence[str]], Awaitable[Completed]]


async def run_command(arguments: Sequence[str]) -> Completed:
    """Run a command with a limit in time; raises ServiceFailed when it cannot be run."""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise ServiceFailed(f"`{arguments[0]}` cannot be run: {error.strerror}") from error
    try:
        output, _ = await asyncio.wait_for(process.communicate(), COMMAND_LIMIT_S)
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise ServiceFailed(f"`{' '.join(arguments)}` did not end") from error
    assert process.returncode is not None
    return Completed(process.returncode, output.decode(errors="replace"))


def parse_show(text: str) -> dict[str, str]:
    """The properties that `systemctl show` prints; a value may hold `=`."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


class SystemdServices:
    """The units of one deployment."""

    def __init__(self, *, clock: Clock, run: RunCommand = run_command) -> None:
        self._clock = clock
        self._run = run

    async def start(self, service: Service) -> Started:
        """Start the unit and wait until it is ready."""
        return await self._bring_up(service, "start")

    async def restart(self, service: Service) -> Started:
        """Reload the manager, restart the unit and wait until a new process is ready."""
        return await self._bring_up(service, "restart")

    async def stop(self, service: Service) -> bool:
        """Stop the unit; False when it was not active."""
        before = await self._show(service)
        if before["ActiveState"] in ("inactive", "failed"):
            return False
        await self._systemctl(service, "stop", str(service.unit))
        return True

    async def members(self, service: Service) -> set[int]:
        """Every process in the control group of the unit."""
        shown = await self._show(service)
        group = shown.get("ControlGroup", "")
        if not group:
            return set()
        files = (_CGROUP / group.lstrip("/")).rglob("cgroup.procs")
        return {int(pid) for path in files for pid in path.read_text().split()}

    async def _bring_up(self, service: Service, verb: str) -> Started:
        begun = self._clock.now()
        before = await self._show(service)
        await self._systemctl(service, "daemon-reload")
        reloaded = await self._show(service)
        if reloaded["NeedDaemonReload"] != "no":
            raise ServiceFailed(f"`{service.unit}` still needs a reload after `daemon-reload`")
        await self._systemctl(service, "reset-failed", str(service.unit), check=False)
        await self._systemctl(service, verb, str(service.unit))
        pid = await self._wait_ready(service, before)
        return Started(pid, seconds_between(begun, self._clock.now()), Path("journal"))

    async def _wait_ready(self, service: Service, before: dict[str, str]) -> int:
        begun = self._clock.now()
        while seconds_between(begun, self._clock.now()) < service.ready_timeout_s:
            shown = await self._show(service)
            _refuse_failing(service, shown)
            if _is_new_and_active(shown, before) and await _answers(service.ready):
                return int(shown["MainPID"])
            await asyncio.sleep(READY_POLL_S)
        raise ServiceFailed(f"`{service.unit}` was not ready within {service.ready_timeout_s:g} s")

    async def _show(self, service: Service) -> dict[str, str]:
        arguments = ["show", "--no-pager", f"--property={','.join(PROPERTIES)}"]
        shown = parse_show(await self._systemctl(service, *arguments, str(service.unit)))
        if shown.get("LoadState") not in ("loaded", None):
            raise ExonerateError(
                f"systemd does not know the unit `{service.unit}` ({shown.get('LoadState')})",
                f"correct `unit` or `manager` of the service `{service.name}`",
            )
        missing = {"ActiveState", "InvocationID", "MainPID", "NeedDaemonReload"} - shown.keys()
        if missing:
            raise ServiceFailed(f"`systemctl show` lacks {', '.join(sorted(missing))}")
        return shown

    async def _systemctl(self, service: Service, *arguments: str, check: bool = True) -> str:
        command = ("systemctl", f"--{service.manager}", *arguments)
        completed = await self._run(command)
        if check and completed.status != 0:
            last = completed.output.strip().splitlines()[-1:] or ["no output"]
            raise ServiceFailed(f"`{' '.join(command)}` failed: {last[0]}")
        return completed.output


def _refuse_failing(service: Service, shown: dict[str, str]) -> None:
    if shown["ActiveState"] == "failed":
        raise ServiceFailed(f"`{service.unit}` failed ({shown.get('Result', 'unknown')})")
    if int(shown.get("NRestarts") or 0) > RESTARTS_MAX:
        raise ServiceFailed(f"`{service.unit}` is restarted again and again")


def _is_new_and_active(shown: dict[str, str], before: dict[str, str]) -> bool:
    new = shown["InvocationID"] not in ("", before["InvocationID"])
    return new and shown["ActiveState"] == "active" and int(shown["MainPID"]) > 0


async def _answers(url: str | None) -> bool:
    if url is None:
        return True
    page = await get_page(url, timeout_s=READY_REQUEST_S)
    return page.status is not None and 200 <= page.status < 400
