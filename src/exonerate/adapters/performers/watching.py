"""Performs the activities that only look: metrics pages and socket counters."""

from __future__ import annotations

import asyncio

from exonerate.adapters.engines.names import SeriesNames, canonical_values
from exonerate.adapters.http_get import Page, get_page
from exonerate.adapters.player import Stage
from exonerate.adapters.sockets import SocketRow, tcp_sockets
from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Activity, SampleMetrics, WatchSockets
from exonerate.core.wire.exposition import parse_exposition

METRICS_TIMEOUT_S = 2.0


class MetricsPerformer:
    """Reads a metrics page several times and turns it into canonical values."""

    def __init__(self, engines: list[SeriesNames]) -> None:
        self._engines = engines

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``metrics`` event for each reading, also where the page does not answer."""
        assert isinstance(activity, SampleMetrics)
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(activity.every_s)
            asked_ns = stage.clock.now()
            page = await get_page(activity.url, timeout_s=METRICS_TIMEOUT_S)
            age_s = (stage.clock.now() - asked_ns) / NS_PER_S
            stage.emit(activity.name, "metrics", self._reading(activity, page, age_s))

    def _reading(self, activity: SampleMetrics, page: Page, age_s: float) -> JsonObject:
        if page.status != 200:
            error = page.error or f"HTTP status {page.status}"
            return {"hop": activity.hop, "values": None, "error": error, "took_s": age_s}
        samples = [(sample.name, sample.value) for sample in parse_exposition(page.text)]
        kind, values = canonical_values(samples, self._engines)
        return {"hop": activity.hop, "engine": kind, "values": dict(values), "took_s": age_s}


class SocketPerformer:
    """Reads the byte counters of every socket of this host that talks to one address."""

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``sockets`` event for each reading; a single one where the kernel refuses."""
        assert isinstance(activity, WatchSockets)
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(activity.every_s)
            try:
                rows = [_shown(row) for row in tcp_sockets() if _talks_to(row, activity.port)]
            except OSError as error:
                data: JsonObject = {"hop": activity.hop, "rows": None, "error": str(error)}
                stage.emit(activity.name, "sockets", data)
                return
            stage.emit(activity.name, "sockets", {"hop": activity.hop, "rows": rows})


def _talks_to(row: SocketRow, port: int) -> bool:
    return port in (row.local_port, row.peer_port) and row.state != "LISTEN"


def _shown(row: SocketRow) -> JsonObject:
    """What the diagnosis reads of a row; a scene holds hundreds of them."""
    return {
        "local_port": row.local_port,
        "peer_port": row.peer_port,
        "state": row.state,
        "sent_bytes": row.sent_bytes,
        "received_bytes": row.received_bytes,
        "unread_bytes": row.unread_bytes,
        "retransmits": row.retransmits,
    }
