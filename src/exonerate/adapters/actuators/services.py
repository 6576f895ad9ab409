"""Performs the activities that concern services, whatever runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exonerate.adapters.actuators.process_service import ProcessServices, ServiceFailed, Started
from exonerate.adapters.actuators.systemd_service import SystemdServices
from exonerate.adapters.process_table import command_line, environment, identity_of
from exonerate.core.deployment.model import Service
from exonerate.core.deployment.settings_flag import flag_in_arguments
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import ReadSetting, RestartService
from exonerate.errors import ExonerateError


class ServiceControl:
    """Every service of a deployment by name, each with what runs it."""

    def __init__(
        self,
        services: Sequence[Service],
        *,
        processes: ProcessServices,
        systemd: SystemdServices,
    ) -> None:
        self._services: Mapping[str, Service] = {service.name: service for service in services}
        self._processes = processes
        self._systemd = systemd

    async def start(self, name: str) -> Started:
        """Start a service and wait until it is ready; raises ServiceFailed."""
        service = self._service(name)
        return await (self._systemd if service.unit else self._processes).start(service)

    async def stop(self, name: str) -> bool:
        """Stop a service; False when it did not run. Raises ServiceFailed."""
        service = self._service(name)
        return await (self._systemd if service.unit else self._processes).stop(service)

    async def restart(self, name: str) -> Started:
        """Restart a service and wait until it is ready; raises ServiceFailed."""
        service = self._service(name)
        return await (self._systemd if service.unit else self._processes).restart(service)

    async def members(self, name: str) -> set[int]:
        """Every process of a service; empty when it does not run."""
        service = self._service(name)
        if service.unit:
            return await self._systemd.members(service)
        return self._processes.members(service)

    async def settings(self, name: str, setting: str, form: str) -> list[JsonObject]:
        """What each process of a service got for one setting; raises ExonerateError."""
        service = self._service(name)
        rows: list[JsonObject] = []
        try:
            members = await self.members(name)
        except ServiceFailed as failure:
            raise ExonerateError(str(failure), "check that the unit can be shown") from failure
        for pid in sorted(members):
            if identity_of(pid) is None:
                continue
            launcher = not service.unit and self._processes.is_launcher(service, pid)
            rows.append({**_reading(pid, setting, form), "launcher": launcher})
        return rows

    def _service(self, name: str) -> Service:
        service = self._services.get(name)
        if service is None:
            known = ", ".join(self._services) or "none"
            raise ExonerateError(f"the deployment has no service `{name}`", f"name one of: {known}")
        return service


async def restart_service(
    activity: RestartService, *, control: ServiceControl
) -> tuple[str, JsonObject]:
    """Perform the activity; returns the kind and data of its event."""
    try:
        started = await control.restart(activity.service)
    except (ServiceFailed, ExonerateError) as failure:
        return "failed", {"service": activity.service, "why": str(failure)}
    return "restarted", {
        "service": activity.service,
        "pid": started.pid,
        "ready_s": round(started.ready_s, 3),
    }


async def read_setting(activity: ReadSetting, *, control: ServiceControl) -> tuple[str, JsonObject]:
    """Perform the activity; returns the kind and data of its event."""
    try:
        rows = await control.settings(activity.service, activity.setting, activity.form)
    except ExonerateError as failure:
        return "failed", {"service": activity.service, "why": str(failure)}
    return "setting", {"service": activity.service, "processes": rows}


def _reading(pid: int, setting: str, form: str) -> JsonObject:
    """The value of one process; `readable` is false where we may not look."""
    if form == "flag":
        arguments = command_line(pid)
        value = flag_in_arguments(arguments, setting)
        return {"pid": pid, "value": value, "readable": bool(arguments)}
    variables = environment(pid)
    if variables is None:
        return {"pid": pid, "value": None, "readable": False}
    return {"pid": pid, "value": variables.get(setting), "readable": True}
