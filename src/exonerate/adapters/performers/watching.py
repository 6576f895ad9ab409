"""Performs the activities that only look: metrics pages and socket counters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from exonerate.adapters.http_get import get_page
from exonerate.adapters.player import Stage
from exonerate.adapters.process_sockets import processes_listening_on, socket_inodes
from exonerate.adapters.process_table import ProcessIdentity, identity_of, is_alive
from exonerate.adapters.sockets import SocketRow, tcp_sockets
from exonerate.core.diagnosis.admin_pages import read_admin_page
from exonerate.core.diagnosis.beside import HEALTH, SETTINGS
from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.ports import CounterReader, EngineState, Page, PageReader
from exonerate.core.scene import Activity, SampleMetrics, WatchSockets

METRICS_TIMEOUT_S = 2.0
SHARED_S = 0.02
"""A reading of the sockets is old after this."""
_OTHER_PAGES = (HEALTH, SETTINGS)
"""How the names of readings begin that are of no page of counters."""


class MetricsPerformer:
    """Reads a metrics page several times and turns it into canonical values.

    Args:
        read_counters: knows the series of engines.
        urls: hop name -> metrics URL as the operator wrote it.
        health: name of a reading -> URL of the health page, or of that of an engine's settings.
        states: hop name -> its address, and what engines say there of their present state.
        get: how a page is had.
    """

    def __init__(
        self,
        read_counters: CounterReader,
        urls: Mapping[str, str],
        *,
        health: Mapping[str, str] | None = None,
        states: tuple[Mapping[str, str], EngineState] | None = None,
        get: PageReader = get_page,
    ) -> None:
        self._read_counters = read_counters
        self._urls = urls
        self._health = health or {}
        self._states = states
        self._get = get

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``metrics`` event for each reading, also where the page does not answer."""
        assert isinstance(activity, SampleMetrics)
        if activity.name.startswith(_OTHER_PAGES):
            url = self._health.get(activity.name, activity.url)
        else:
            url = self._urls.get(activity.hop, activity.url)
        second = self._second_source(activity)
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(activity.every_s)
            asked_ns = stage.clock.now()
            page = await self._get(url, timeout_s=METRICS_TIMEOUT_S)
            age_s = (stage.clock.now() - asked_ns) / NS_PER_S
            reading = {**self._reading(activity, page, age_s), "local_port": page.local_port}
            if second is not None:
                reading |= await second.beside(reading)
            stage.emit(activity.name, "metrics", reading)

    def _second_source(self, activity: SampleMetrics) -> _SecondSource | None:
        if self._states is None or activity.name.startswith(_OTHER_PAGES):
            return None
        addresses, states = self._states
        address = addresses.get(activity.hop)
        return None if address is None else _SecondSource(address, states, self._get)

    def _reading(self, activity: SampleMetrics, page: Page, age_s: float) -> JsonObject:
        if page.status != 200:
            error = page.error or f"HTTP status {page.status}{_loading(page)}"
            return {"hop": activity.hop, "values": None, "error": error, "took_s": age_s}
        kind, values = self._read_counters(page.text)
        if kind is None:
            kind, values = read_admin_page(page.text)
        return {"hop": activity.hop, "engine": kind, "values": dict(values), "took_s": age_s}


class _SecondSource:
    """What one engine says of its present state, beside its metrics page."""

    def __init__(self, address: str, states: EngineState, get: PageReader) -> None:
        self._address = address.rstrip("/")
        self._states = states
        self._get = get
        self._absent = False

    async def beside(self, reading: JsonObject) -> JsonObject:
        """What to add to, or to change in, a reading of the metrics page."""
        kind, values = reading.get("engine"), reading.get("values")
        if not isinstance(kind, str) or not isinstance(values, Mapping):
            return {}
        found = {**values, **self._states.traits(kind)}
        path = None if self._absent else self._states.path(kind)
        if path is None:
            return {"values": found}
        page = await self._get(self._address + path, timeout_s=METRICS_TIMEOUT_S)
        if page.status == 200:
            found |= self._states.read(kind, page.text)
        # A page that is not offered, or not to us, need not be asked for again.
        self._absent = page.status is not None and page.status >= 400
        return {"values": found, "state_port": page.local_port}


def _loading(page: Page) -> str:
    """llama.cpp answers 503 and says so on every page until its model is there."""
    return ": it is loading its model" if "loading model" in page.text[:1000].lower() else ""


class SocketPerformer:
    """Reads the byte counters of every socket of this host that talks to one address.

    All that watch at the same time share their readings of the kernel.
    """

    def __init__(self) -> None:
        self._readings = _Readings()

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One ``sockets`` event for each reading; a single one where the kernel refuses."""
        assert isinstance(activity, WatchSockets)
        try:
            await self._watch(activity, stage)
        finally:
            self._readings.forget(activity.name)

    async def _watch(self, activity: WatchSockets, stage: Stage) -> None:
        owners = await _owners(activity.port)
        seen_once = bool(owners)
        before: JsonObject = {}
        for number in range(activity.count):
            if number > 0:
                await asyncio.sleep(_until_next_s(activity.every_s))
            if seen_once and not (owners and all(map(is_alive, owners))):
                # A process that is started again has another identity, whatever its pid.
                owners = await _owners(activity.port)
            try:
                pids = [owner.pid for owner in owners]
                rows = self._readings.of(activity.name, activity.port, pids)
            except OSError as error:
                data: JsonObject = {"hop": activity.hop, "rows": None, "error": str(error)}
                stage.emit(activity.name, "sockets", data)
                return
            seen: JsonObject = {
                "hop": activity.hop,
                "rows": rows,
                "process_seen": bool(owners),
                "processes": [f"{owner.pid}:{owner.start_ticks}" for owner in owners],
            }
            same: JsonObject = {"hop": activity.hop, "same": True}
            stage.emit(activity.name, "sockets", same if seen == before else seen)
            stage.looked(activity.name)
            before = seen


def _until_next_s(every_s: float) -> float:
    """The time until the next moment at which all look that look so often: they share a reading."""
    return every_s - asyncio.get_running_loop().time() % every_s


async def _owners(port: int) -> list[ProcessIdentity]:
    """The processes that listen on the port, as far as they can be seen."""
    pids = await asyncio.to_thread(processes_listening_on, port)
    return [identity for pid in pids if (identity := identity_of(pid)) is not None]


class _Readings:
    """One reading of the kernel for all addresses that are watched at that moment.

    Each watcher gets a reading once; the next time that it asks there is a new one.
    """

    def __init__(self) -> None:
        self._watched: dict[str, tuple[int, list[int]]] = {}
        self._rows: dict[str, list[JsonObject]] = {}
        self._read_s = 0.0

    def of(self, name: str, port: int, owners: list[int]) -> list[JsonObject]:
        """Sockets that talk to the port, and every other one of the processes `owners`.

        Raises:
            OSError: the kernel refuses.
        """
        last = self._watched.get(name)
        self._watched[name] = (port, owners)
        late = time.monotonic() - self._read_s > SHARED_S
        if name not in self._rows or late or last != (port, owners):
            self._read()
        return self._rows.pop(name)

    def forget(self, name: str) -> None:
        """Nobody watches under this name any more."""
        self._watched.pop(name, None)
        self._rows.pop(name, None)

    def _read(self) -> None:
        held = {name: socket_inodes(owners) for name, (_, owners) in self._watched.items()}
        ports = {port for port, _ in self._watched.values()}
        inodes = set().union(*held.values())
        found = tcp_sockets(
            lambda local, peer, inode: local in ports or peer in ports or inode in inodes
        )
        self._rows = {
            name: _rows(found, port, held[name]) for name, (port, _) in self._watched.items()
        }
        self._read_s = time.monotonic()


def _rows(found: list[SocketRow], port: int, held: set[int]) -> list[JsonObject]:
    """Sockets that talk to the port, and every other one that is held by who listens on it."""
    rows: list[JsonObject] = []
    for row in found:
        if _talks_to(row, port):
            rows.append(_shown(row, up=False))
        elif row.inode in held and row.state != "LISTEN":
            rows.append(_shown(row, up=True))
    return rows


def _talks_to(row: SocketRow, port: int) -> bool:
    return port in (row.local_port, row.peer_port) and row.state != "LISTEN"


def _shown(row: SocketRow, *, up: bool) -> JsonObject:
    """What the diagnosis reads of a row; a scene holds hundreds of them.

    `up`: the socket belongs to the hop's own process and leads onwards. `accepted` is False for
    a connection that the kernel has taken and no program has. What changes with every reading is
    shown only of a connection whose segments nobody answers.
    """
    shown: dict[str, Json] = {
        "up": up,
        "peer": f"{row.peer}:{row.peer_port}" if up else None,
        "accepted": row.inode != 0 or row.state == "TIME_WAIT",
        "local_port": row.local_port,
        "peer_port": row.peer_port,
        "state": row.state,
        "sent_bytes": row.sent_bytes,
        "received_bytes": row.received_bytes,
        "unread_bytes": row.unread_bytes,
        "retransmits": row.retransmits,
    }
    if row.in_a_row or row.lost:
        shown |= {
            "unsent_bytes": row.unsent_bytes,
            "unacked": row.unacked,
            "in_a_row": row.in_a_row,
            "lost": row.lost,
            "rtt_s": row.rtt_s,
            # In whole seconds, so that most readings are the same as the one before.
            "last_ack_age_s": int(row.last_ack_age_s or 0),
        }
    return shown
