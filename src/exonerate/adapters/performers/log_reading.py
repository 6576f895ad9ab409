"""Performs the reading of hops' logs: lines in, facts out; no line leaves this module."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from exonerate.adapters.log_reader import Appended, LogReader
from exonerate.adapters.player import Stage
from exonerate.core.diagnosis.logs.engine import (
    EngineLine,
    engine_line_to_json,
    parse_engine,
)
from exonerate.core.diagnosis.logs.entry import entry_to_json
from exonerate.core.diagnosis.logs.formats import parse_line, parse_lines
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import Activity, ReadLog

GRACE_S = 0.4
"""A line about an exchange that has just ended is written a moment later."""
ENTRIES_MAX = 500
"""Of one reading. A log without ids can hold a busy service's traffic; ours is a small part."""


class LogPerformer:
    """Follows logs over all scenes of a run, so that no line falls between two of them.

    Args:
        folder: where relative paths start.
        paths: activity name -> path as the operator wrote it; a recorded scene may hold it changed.
    """

    def __init__(self, folder: Path, paths: Mapping[str, str]) -> None:
        self._folder = folder
        self._paths = paths
        self._readers: dict[Path, LogReader] = {}

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``log`` event for each reading that found lines; one with `error`, and no more."""
        assert isinstance(activity, ReadLog)
        path = self._folder / self._paths.get(activity.name, activity.path)
        reader = self._readers.setdefault(path, LogReader(path, bytes_max=activity.bytes_max))
        try:
            reader.begin()
            await self._follow(activity, stage, reader)
        except OSError as error:
            why = error.strerror or type(error).__name__
            stage.emit(activity.name, "log", {"hop": activity.hop, "error": why})
        finally:
            reader.close()

    async def _follow(self, activity: ReadLog, stage: Stage, reader: LogReader) -> None:
        try:
            while True:
                await asyncio.sleep(activity.every_s)
                _tell(activity, stage, reader.appended())
        except asyncio.CancelledError:
            await asyncio.sleep(GRACE_S)
            _tell(activity, stage, reader.appended())
            raise


def _tell(activity: ReadLog, stage: Stage, appended: Appended) -> None:
    if not appended.lines and not appended.skipped_bytes:
        return
    known, unknown_lines = parse_lines(appended.lines, activity.kind)
    ours = [entry for entry in known if not entry.foreign]
    data: JsonObject = {
        "hop": activity.hop,
        "wall_s": _wall_s(stage),
        "entries": [entry_to_json(entry) for entry in ours[:ENTRIES_MAX]],
        "lines": len(appended.lines),
        "unknown_lines": unknown_lines,
        "skipped_bytes": appended.skipped_bytes,
    }
    if activity.engine:
        data = {**data, **_engine(appended.lines, activity.kind)}
    stage.emit(activity.name, "log", data)


def _engine(lines: Sequence[str], kind: str | None) -> JsonObject:
    """What an engine says of itself, each thing once with how often it was said."""
    told: Counter[EngineLine] = Counter()
    unknown = 0
    for line in lines:
        read = parse_engine(line)
        if read is not None:
            told[read] += 1
        else:
            unknown += parse_line(line, kind) is None
    said: list[Json] = [{**engine_line_to_json(one), "times": told[one]} for one in told]
    return {"engine": said[:ENTRIES_MAX], "unknown_lines": unknown}


def _wall_s(stage: Stage) -> float:
    return round(datetime.fromisoformat(stage.clock.wall()).timestamp(), 4)
