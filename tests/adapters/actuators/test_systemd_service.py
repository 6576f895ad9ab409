"""Units of systemd, driven by recorded answers of `systemctl`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.support.skipped_time import played

from exonerate.adapters.actuators.process_service import ServiceFailed
from exonerate.adapters.actuators.systemd_service import (
    Completed,
    SystemdServices,
    parse_show,
    run_command,
)
from exonerate.adapters.clock import SystemClock
from exonerate.core.deployment.model import Service
from exonerate.errors import ExonerateError

UNIT = Service(name="decode", unit="sglang-decode.service", manager="user", ready_timeout_s=0.5)
# As systemd 252 prints it.
SHOWN = """MainPID=2211
Result=success
NRestarts=0
ControlGroup=/system.slice/sglang-decode.service
Environment=SGLANG_SM120_MMA_TARGET_CTAS=512 OMP_NUM_THREADS=8
EnvironmentFiles=/etc/default/sglang (ignore_errors=yes)
LoadState=loaded
ActiveState=active
SubState=running
FragmentPath=/etc/systemd/system/sglang-decode.service
DropInPaths=
NeedDaemonReload=no
InvocationID=5d1cbb5f0e5b4a0f9f6a63b5a0a7c1e2
"""


@dataclass
class Recorded:
    """Answers `systemctl` from records; the unit changes when it is restarted."""

    before: str = SHOWN
    after: str = SHOWN.replace("5d1cbb", "77aa00").replace("2211", "3311")
    statuses: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    restarted: bool = False

    async def __call__(self, arguments: Sequence[str]) -> Completed:
        """One command."""
        verb = arguments[2]
        self.calls.append(tuple(arguments))
        status = self.statuses.get(verb, 0)
        self.restarted = self.restarted or (verb in ("restart", "start") and status == 0)
        output = self.after if self.restarted else self.before
        return Completed(status, output if verb == "show" else "Job failed.\n")


def restart(recorded: Recorded) -> int:
    """Restart the unit; the new main process."""
    return played(SystemdServices(clock=SystemClock(), run=recorded).restart(UNIT)).pid


def test_a_restart_reloads_first_and_proves_a_new_invocation() -> None:
    """Without a reload the old unit in memory would be started again."""
    recorded = Recorded()
    assert restart(recorded) == 3311
    verbs = [call[2] for call in recorded.calls]
    assert [v for v in verbs if v != "show"] == ["daemon-reload", "reset-failed", "restart"]
    assert all(call[:2] == ("systemctl", "--user") for call in recorded.calls)


@pytest.mark.parametrize(
    ("recorded", "why"),
    [
        (Recorded(before=SHOWN.replace("Reload=no", "Reload=yes")), "still needs a reload"),
        (Recorded(after=SHOWN), "not ready within"),
        (Recorded(after=SHOWN.replace("5d1c", "0").replace("=active", "=failed")), "failed"),
        (Recorded(after=SHOWN.replace("NRestarts=0", "NRestarts=9")), "again and again"),
        (Recorded(after=SHOWN.replace("5d1c", "0").replace("=2211", "=0")), "not ready within"),
        (Recorded(statuses={"restart": 1}), "Job failed"),
        (Recorded(before="MainPID=0\n"), "lacks ActiveState"),
    ],
)
def test_a_restart_that_is_not_proved_fails(recorded: Recorded, why: str) -> None:
    """The old invocation, a failed unit and an unknown state are no success."""
    with pytest.raises(ServiceFailed, match=why):
        restart(recorded)


def test_a_unit_that_systemd_does_not_know_is_the_operators_to_correct() -> None:
    """The hint names the keys of the deployment file."""
    recorded = Recorded(before=SHOWN.replace("LoadState=loaded", "LoadState=not-found"))
    with pytest.raises(ExonerateError, match="does not know the unit") as error:
        restart(recorded)
    assert "`manager`" in error.value.hint


def test_a_stopped_unit_is_not_stopped_again() -> None:
    """An inactive unit is left alone."""
    for state, stopped in (("active", True), ("inactive", False)):
        recorded = Recorded(before=SHOWN.replace("=active", f"={state}"))
        systemd = SystemdServices(clock=SystemClock(), run=recorded)
        assert asyncio.run(systemd.stop(UNIT)) == stopped
        assert ("stop" in [call[2] for call in recorded.calls]) == stopped


def test_a_unit_without_a_control_group_has_no_processes() -> None:
    """An inactive unit prints an empty group."""
    recorded = Recorded(before=SHOWN.replace("/system.slice/sglang-decode.service", ""))
    systemd = SystemdServices(clock=SystemClock(), run=recorded)
    assert asyncio.run(systemd.members(UNIT)) == set()


def test_values_may_hold_equals_signs() -> None:
    """`Environment=A=1 B=2` is one property."""
    assert parse_show(SHOWN)["Environment"].startswith("SGLANG_SM120_MMA_TARGET_CTAS=512 ")


def test_a_real_command_is_run_with_its_arguments() -> None:
    """Output and status come back; a missing program is a failure."""
    assert asyncio.run(run_command(["sh", "-c", "echo out; exit 3"])) == Completed(3, "out\n")
    with pytest.raises(ServiceFailed, match="cannot be run"):
        asyncio.run(run_command(["/no/such/systemctl"]))
