"""Performs the activities that change something: files and services."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from exonerate.adapters.actuators.file_swap import FileSwapper, swap_file
from exonerate.adapters.actuators.services import ServiceControl, read_setting, restart_service
from exonerate.adapters.player import ActivityFailed, Stage
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, ReadSetting, RestartService, SwapFile


class SwapPerformer:
    """Exchanges a file for the bytes of a stored blob."""

    def __init__(self, swapper: FileSwapper, read_blob: Callable[[str], bytes]) -> None:
        self._swap = partial(swap_file, read_blob=read_blob, swapper=swapper)

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``swapped`` event, or failed with the state of the file."""
        assert isinstance(activity, SwapFile)
        stage.progress(f"exchanging `{activity.path}`", None)
        _report(activity.name, stage, await self._swap(activity))


class RestartPerformer:
    """Restarts services and waits until they are ready."""

    def __init__(self, control: ServiceControl) -> None:
        self._control = control

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``restarted`` event, or failed with the reason."""
        assert isinstance(activity, RestartService)
        stage.progress(f"restarting `{activity.service}`", None)
        _report(activity.name, stage, await restart_service(activity, control=self._control))


class SettingPerformer:
    """Reads what each process of a service got."""

    def __init__(self, control: ServiceControl) -> None:
        self._control = control

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``setting`` event, or failed with the reason."""
        assert isinstance(activity, ReadSetting)
        _report(activity.name, stage, await read_setting(activity, control=self._control))


def _report(activity: str, stage: Stage, outcome: tuple[str, JsonObject]) -> None:
    kind, seen = outcome
    if kind == "failed":
        raise ActivityFailed(str(seen["why"]), seen)
    stage.emit(activity, kind, seen)
