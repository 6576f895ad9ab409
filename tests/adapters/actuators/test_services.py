"""The activities that concern services, on real processes."""

from __future__ import annotations

import asyncio
from typing import Any

from exonerate.adapters.actuators.process_service import ProcessServices
from exonerate.adapters.actuators.services import ServiceControl, read_setting, restart_service
from exonerate.adapters.actuators.systemd_service import SystemdServices
from exonerate.adapters.clock import SystemClock
from exonerate.core.change.gates import setting_gate
from exonerate.core.deployment.model import KnobForm
from exonerate.core.scene import Event, ReadSetting, RestartService


def control(site: Any) -> ServiceControl:
    """The services of the site."""
    clock = SystemClock()
    return ServiceControl(
        [site.service],
        processes=ProcessServices(folder=site.folder, state=site.folder / "state", clock=clock),
        systemd=SystemdServices(clock=clock),
    )


def arrived(site: Any, setting: str, form: KnobForm, value: str | None) -> tuple[bool, str]:
    """Whether the setting arrived in every process, as the gate judges the reading."""
    activity = ReadSetting(name="s", service="engine", setting=setting, form=form)
    kind, data = asyncio.run(read_setting(activity, control=control(site)))
    result = setting_gate([Event("s", 1, kind, data)], form, value)
    return result.passed, result.why


def test_a_setting_is_read_from_every_process_after_a_restart(site: Any) -> None:
    """Exports from the environment, flags from the command line, of the service and its helper."""
    site.write("export KNOB=5", "sleep 600 &", last="")
    restart = RestartService(name="r", service="engine")
    kind, data = asyncio.run(restart_service(restart, control=control(site)))
    try:
        assert (kind, data["service"]) == ("restarted", "engine")
        assert arrived(site, "KNOB", "export", "5") == (True, "= 5 in every process (2)")
        assert arrived(site, "level", "flag", "3")[0]
        assert not arrived(site, "KNOB", "export", "6")[0]
        assert not arrived(site, "level", "flag", "4")[0]
        assert arrived(site, "ABSENT", "export", None)[0]
        assert not arrived(site, "KNOB", "export", None)[0]
    finally:
        asyncio.run(control(site).stop("engine"))
    passed, why = arrived(site, "KNOB", "export", "5")
    assert not passed
    assert "no process" in why


def test_a_worker_without_the_setting_is_seen(site: Any) -> None:
    """A helper that was started before the export does not have it."""
    site.write("sleep 600 &", "export KNOB=5")
    asyncio.run(control(site).start("engine"))
    try:
        passed, why = arrived(site, "KNOB", "export", "5")
    finally:
        asyncio.run(control(site).stop("engine"))
    assert not passed
    assert "1 of 2 processes did not get 5" in why


def test_a_service_that_fails_becomes_an_event(site: Any) -> None:
    """The reason is in the event, and nothing is raised."""
    site.script.write_text("#!/bin/sh\nexit 3\n")
    restart = RestartService(name="r", service="engine")
    kind, data = asyncio.run(restart_service(restart, control=control(site)))
    assert kind == "failed"
    assert "status 3" in str(data["why"])


def test_an_unknown_service_is_named(site: Any) -> None:
    """The known ones are listed by the error."""
    restart = RestartService(name="r", service="other")
    kind, data = asyncio.run(restart_service(restart, control=control(site)))
    assert (kind, data["why"]) == ("failed", "the deployment has no service `other`")
