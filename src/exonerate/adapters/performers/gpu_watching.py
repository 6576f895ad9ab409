"""Performs the watching of this host's GPUs; where there is no tool for it, does nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from exonerate.adapters.gpus import KERNEL_LOG, gpu_tool, kernel_messages, read_gpus
from exonerate.adapters.player import Stage
from exonerate.core.diagnosis.gpu_readings import KernelSaid, gpu_to_json, kernel_to_json
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, WatchGpus

KEPT_MAX = 200
"""Messages of the kernel of one scene."""


class GpuPerformer:
    """Reads GPUs and the kernel's messages about them, a few times in a scene.

    Args:
        find: the tool's path, if it is there.
        kernel_log: where the kernel's messages are read.
    """

    def __init__(
        self, find: Callable[[], str | None] = gpu_tool, *, kernel_log: Path = KERNEL_LOG
    ) -> None:
        self._find = find
        self._kernel_log = kernel_log

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``gpus`` event for each reading; none where there is nobody to ask."""
        assert isinstance(activity, WatchGpus)
        tool = self._find()
        if tool is None:
            return
        known: set[KernelSaid] = set()
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(activity.every_s)
            reading = await asyncio.to_thread(read_gpus, tool)
            said, unread = await asyncio.to_thread(kernel_messages, self._kernel_log)
            fresh = [one for one in said if one not in known][-KEPT_MAX:]
            known.update(said)
            now = stage.clock.now()
            data: JsonObject = {
                "gpus": [gpu_to_json(state) for state in reading.gpus],
                "error": reading.error,
                "kernel": [kernel_to_json(one, now) for one in fresh],
                "kernel_unread": unread,
            }
            stage.emit(activity.name, "gpus", data)
