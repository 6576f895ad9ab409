"""Performs load cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exonerate.adapters.link import USUAL, Link, check_load
from exonerate.adapters.load import play_cell
from exonerate.adapters.player import ActivityFailed, Stage
from exonerate.adapters.request import victim_body
from exonerate.core.scene import Activity, LoadCell


class LoadPerformer:
    """Plays `LoadCell`s; `folder`, `urls` and `links` are as for probes."""

    def __init__(self, folder: Path, urls: Mapping[str, str], *, links: Mapping[str, Link]) -> None:
        self._folder = folder
        self._urls = urls
        self._links = links

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``cell`` event with a row for each request."""
        assert isinstance(activity, LoadCell)
        stage.progress(f"{activity.name}: {activity.requests} requests", None)
        body = victim_body(self._folder, activity.request.body_ref)
        cell = replace(activity, url=self._urls.get(activity.hop, activity.url))
        link = self._links.get(activity.hop, USUAL)
        check_load(link)
        measured = await play_cell(cell, clock=stage.clock, body=body, ca=link.ca)
        stage.emit(activity.name, "cell", measured)
        if not measured["rows"]:
            raise ActivityFailed("no request was sent")
