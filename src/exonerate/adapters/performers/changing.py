"""Performs what changes the host: files exchanged, services restarted, settings read back."""

from __future__ import annotations

from collections.abc import Callable

from exonerate.adapters.actuators.file_swap import FileSwapper, swap_file
from exonerate.adapters.actuators.services import ServiceControl, read_setting, restart_service
from exonerate.adapters.player import ActivityFailed, Performer, Stage
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, ReadSetting, RestartService, SwapFile


def change_performers(
    *, read_blob: Callable[[str], bytes], swapper: FileSwapper, services: ServiceControl
) -> dict[type[Activity], Performer]:
    """The performers of every activity that changes something, or reads back what changed."""

    async def swap(activity: Activity, stage: Stage) -> None:
        assert isinstance(activity, SwapFile)
        stage.progress(f"exchanging `{activity.path}`", None)
        _emit(stage, activity, await swap_file(activity, read_blob=read_blob, swapper=swapper))

    async def restart(activity: Activity, stage: Stage) -> None:
        assert isinstance(activity, RestartService)
        stage.progress(f"restarting {activity.service}", None)
        _emit(stage, activity, await restart_service(activity, control=services))

    async def read(activity: Activity, stage: Stage) -> None:
        assert isinstance(activity, ReadSetting)
        _emit(stage, activity, await read_setting(activity, control=services))

    return {SwapFile: swap, RestartService: restart, ReadSetting: read}


def _emit(stage: Stage, activity: Activity, event: tuple[str, JsonObject]) -> None:
    kind, data = event
    if kind == "failed":
        raise ActivityFailed(str(data["why"]), data)
    stage.emit(activity.name, kind, data)
