"""Who listens at a hop, and that it is still the same process."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.adapters.performers.watching import MetricsPerformer, SocketPerformer
from exonerate.adapters.player import ScenePlayer, Stage
from exonerate.adapters.sockets import SocketRow, Wanted, tcp_sockets
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Page
from exonerate.core.scene import (
    Activity,
    Event,
    RestartService,
    SampleMetrics,
    Scene,
    WatchSockets,
)

LISTEN = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
sys.stdin.read()
"""


def listener(port: int) -> "subprocess.Popen[bytes]":
    """A process that listens until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", LISTEN, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


async def until_seen(stage: Stage, pid: int) -> None:
    """Wait until a reading of the sockets names this process."""
    for _ in range(3000):
        for event in stage.events:
            names = event.data.get("processes") if event.kind == "sockets" else None
            if any(str(name).startswith(f"{pid}:") for name in cast("list[str]", names or [])):
                return
        await asyncio.sleep(0.02)
    raise AssertionError(f"nobody saw that process {pid} listens")


def test_a_process_that_was_started_again_is_another_one() -> None:
    """The port stays, its owner changes; in between nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = [listener(port)]
    watch = WatchSockets(
        name="sockets", hop="engine", host="127.0.0.1", port=port, count=1_000_000, every_s=0.02,
        background=True,
    )  # fmt: skip
    seen: list[Sequence[str]] = []

    async def exchange(_activity: Activity, stage: Stage) -> None:
        await until_seen(stage, processes[0].pid)
        processes[0].communicate()
        processes.append(await asyncio.to_thread(listener, port))
        await until_seen(stage, processes[1].pid)

    async def run() -> Sequence[Event]:
        player = ScenePlayer(
            clock=SystemClock(),
            performers={WatchSockets: SocketPerformer(), RestartService: exchange},
        )
        restart = RestartService(name="restart", service="engine")
        scene = Scene(id="s", why="", activities=(watch, restart), time_limit_s=100.0)
        return await player.play(scene, lambda _text, _fraction: None)

    try:
        for event in asyncio.run(run()):
            if event.kind == "sockets" and event.data.get("processes"):
                seen.append(event.data["processes"])  # type: ignore[arg-type]  # a list of texts
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    owners = list(dict.fromkeys(name for names in seen for name in names))
    assert [owner.partition(":")[0] for owner in owners] == [str(p.pid) for p in processes]


PAGES = {
    "http://e/metrics": "sglang:num_running_reqs 1\nsglang:num_queue_reqs 4\n",
    "http://e/v1/loads?include=core": '{"timestamp": "2026-11-30T23:00:10+00:00", "loads": '
    '[{"timestamp": 1796079609.5, "num_running_reqs": 0, "num_waiting_reqs": 0}]}',
}


def readings(pages: Mapping[str, str], count: int = 2) -> tuple[list[JsonObject], list[str]]:
    """What is read of an engine with these pages, and what was asked for."""
    asked: list[str] = []

    async def get(url: str, *, timeout_s: float) -> Page:
        asked.append(url)
        port = 4000 + len(asked)
        if url not in pages:
            return Page(404, "", local_port=port)
        return Page(200, pages[url], local_port=port)

    performer = MetricsPerformer(
        counter_reader(),
        {"engine": "http://e/metrics"},
        states=({"engine": "http://e/"}, engine_states()),
        get=get,
    )
    sample = SampleMetrics(name="counters@engine", hop="engine", url="", count=count, every_s=0.001)
    player = ScenePlayer(clock=SystemClock(), performers={SampleMetrics: performer})
    scene = Scene(id="s", why="", activities=(sample,), time_limit_s=60.0)
    events = asyncio.run(player.play(scene, lambda _text, _fraction: None))
    return [event.data for event in events if event.kind == "metrics"], asked


def test_what_the_scheduler_wrote_itself_counts_instead_of_the_gauges() -> None:
    """Its load and the age of it come from the second page; both ports are known as ours."""
    seen, _ = readings(PAGES)
    values = seen[0]["values"]
    assert isinstance(values, dict)
    assert (values["running"], values["waiting"], values["state_age_s"]) == (0, 0, 0.5)
    assert (seen[0]["local_port"], seen[0]["state_port"]) == (4001, 4002)


def test_a_page_that_an_engine_does_not_offer_is_asked_for_once() -> None:
    """Older versions have none: their gauges are read on, and known to lag."""
    seen, asked = readings({"http://e/metrics": PAGES["http://e/metrics"]}, count=3)
    assert asked.count("http://e/v1/loads?include=core") == 1
    values = seen[2]["values"]
    assert isinstance(values, dict)
    assert (values["running"], values["gauge_lag_s"]) == (1, 30)


def test_an_engines_page_of_settings_is_no_page_of_counters() -> None:
    """It is read at its own address, and nothing else is asked beside it."""
    asked: list[str] = []

    async def get(url: str, *, timeout_s: float) -> Page:
        asked.append(url)
        return Page(200, '{"watchdog_timeout": 300, "model_path": "/m"}', local_port=4001)

    performer = MetricsPerformer(
        counter_reader(),
        {"engine": "http://e/metrics"},
        health={"settings@engine": "http://e/server_info"},
        states=({"engine": "http://e/"}, engine_states()),
        get=get,
    )
    sample = SampleMetrics(name="settings@engine", hop="engine", url="", count=1, every_s=1.0)
    player = ScenePlayer(clock=SystemClock(), performers={SampleMetrics: performer})
    scene = Scene(id="s", why="", activities=(sample,), time_limit_s=60.0)
    (event,) = asyncio.run(player.play(scene, lambda _text, _fraction: None))
    assert asked == ["http://e/server_info"]
    assert event.data["values"] == {"watchdog_s": 300.0}


def test_hops_that_are_watched_at_the_same_time_share_their_readings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each sees the connections of its own port, and the kernel is asked about once a moment."""
    asked = [0]

    def counted(wanted: Wanted) -> list[SocketRow]:
        asked[0] += 1
        return tcp_sockets(wanted)

    monkeypatch.setattr("exonerate.adapters.performers.watching.tcp_sockets", counted)

    def watch(port: int) -> WatchSockets:
        return WatchSockets(
            name=f"sockets@{port}", hop=f"{port}", host="127.0.0.1", port=port, count=40,
            every_s=0.05,
        )  # fmt: skip

    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        ports = [server.getsockname()[1] for server in (first, second)]
        clients = [socket.create_connection(("127.0.0.1", port)) for port in ports]
        player = ScenePlayer(clock=SystemClock(), performers={WatchSockets: SocketPerformer()})
        scene = Scene(id="s", why="t", activities=tuple(map(watch, ports)))
        events = asyncio.run(player.play(scene, lambda _text, _share: None))
        for client in clients:
            client.close()
    assert len(events) == 80
    for port in ports:
        seen = next(e.data for e in events if e.data["hop"] == f"{port}" and "rows" in e.data)
        rows = cast("list[JsonObject]", seen["rows"])
        own = [row for row in rows if not row["up"]]
        assert {port in (row["local_port"], row["peer_port"]) for row in own} == {True}
    assert asked[0] < 76


def test_readings_of_hops_that_are_watched_apart_are_their_own() -> None:
    """One that began later sees its own connections from its first reading on."""
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        watches = [
            WatchSockets(
                name=name, hop=name, host="127.0.0.1", port=server.getsockname()[1], count=3,
                every_s=0.06, start_s=start_s,
            )
            for name, server, start_s in (("a", first, 0.0), ("b", second, 0.03))
        ]  # fmt: skip
        with socket.create_connection(second.getsockname()) as client:
            player = ScenePlayer(clock=SystemClock(), performers={WatchSockets: SocketPerformer()})
            scene = Scene(id="s", why="t", activities=tuple(watches))
            events = asyncio.run(player.play(scene, lambda _text, _share: None))
            ours = client.getsockname()[1]
    seen = next(e.data for e in events if e.data["hop"] == "b" and "rows" in e.data)
    rows = cast("list[JsonObject]", seen["rows"])
    assert ours in {row["local_port"] for row in rows}
