"""A program run through a tap: started, watched, stopped, and never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.observing import ProgramPerformer, TapPerformer, VictimProgram
from exonerate.adapters.player import Performer, ScenePlayer, Stage
from exonerate.adapters.process_table import descendants, identity_of
from exonerate.adapters.standing_tap import StandingTaps
from exonerate.adapters.tap import tap_listener
from exonerate.core.diagnosis.client.observed import read_observed
from exonerate.core.scene import Activity, Event, RunProgram, Scene, Tap

HANG = "import time\ntime.sleep(60)"
STUBBORN = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)"
PARENT = (
    "import subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\ntime.sleep(60)"
)
ASK_AND_LEAVE = """
import os, socket
host, port = os.environ["TAP"].split(":")
sock = socket.create_connection((host, int(port)))
sock.sendall(b"POST /v1/completions HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
sock.recv(100)
sock.recv(100)
"""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Watched:
    """The performer of the program, which tells when a sample shows a connection to a port."""

    def __init__(self, performer: Performer, port: int, connected: threading.Event) -> None:
        self._performer = performer
        self._port = port
        self._connected = connected

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """Play the activity and look at its events."""
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look(stage))
            await self._performer(activity, stage)
            looking.cancel()

    async def _look(self, stage: Stage) -> None:
        while True:
            if shows_connection(stage.events, self._port):
                self._connected.set()
            await asyncio.sleep(0.05)


def shows_connection(events: Sequence[Event], port: int) -> bool:
    """Whether a sample shows a connection of the program to that port."""
    return any(
        socket.peer_port == port
        for sample in read_observed(list(events), port).samples
        for socket in sample.sockets
    )


def play(
    code: str,
    *,
    limit_s: float = 100.0,
    upstream: str = "",
    port: int = 9,
    connected: threading.Event | None = None,
) -> list[Event]:
    """Run a Python program as the victim."""
    environment = {**os.environ, "TAP": f"127.0.0.1:{port}"}
    program = VictimProgram(
        (sys.executable, "-c", code), environment, {"proxies": {}}, foreground=False
    )
    performer: Performer = ProgramPerformer(program)
    if connected is not None:
        performer = Watched(performer, port, connected)
    performers: dict[type[Activity], Performer] = {RunProgram: performer}
    activities: list[Activity] = [
        RunProgram(name="program", shown="python", tap_port=port, time_limit_s=limit_s)
    ]
    if upstream:
        listener = tap_listener(port=port)
        performers[Tap] = TapPerformer(
            {port: listener}, {"edge": upstream}, further_in=StandingTaps([])
        )
        activities.append(Tap(name="tap", hop="edge", listen_port=port, upstream_url=upstream))
    player = ScenePlayer(clock=SystemClock(), performers=performers)
    scene = Scene(id="s", why="test", activities=tuple(activities))
    return list(asyncio.run(player.play(scene, lambda _text, _share: None)))


def pid_of(events: list[Event]) -> int:
    """The program's pid."""
    return int(str(next(e for e in events if e.kind == "program_started").data["pid"]))


def interrupt_when(started: Callable[[], bool]) -> None:
    """Press Ctrl-C as soon as something is true."""

    def press() -> None:
        for _ in range(3000):
            if started():
                os.kill(os.getpid(), signal.SIGINT)
                return
            threading.Event().wait(0.02)

    threading.Thread(target=press, daemon=True).start()


def has_child() -> bool:
    """Whether a program of ours runs by now."""
    return len(descendants(os.getpid())) > 1


def test_a_program_that_ends_says_how() -> None:
    """Its exit status is recorded, and that nobody else ended it."""
    observed = read_observed(play("raise SystemExit(7)"), 9)
    assert (observed.status, observed.ended_by) == (7, "itself")


@pytest.mark.parametrize("code", [HANG, PARENT])
def test_a_program_that_hangs_is_ended_at_its_limit_with_its_children(code: str) -> None:
    """Nothing is left behind, and the record says that the limit ended it."""
    events = play(code, limit_s=0.6)
    observed = read_observed(events, 9)
    assert observed.ended_by == "limit"
    assert observed.samples
    assert identity_of(pid_of(events)) is None


def test_ctrl_c_ends_the_program_and_not_the_run() -> None:
    """What crossed until then can be judged; even a program that ignores Ctrl-C ends."""
    before = signal.getsignal(signal.SIGINT)
    interrupt_when(has_child)
    events = play(STUBBORN)
    assert read_observed(events, 9).ended_by == "interrupt"
    assert identity_of(pid_of(events)) is None
    assert signal.getsignal(signal.SIGINT) == before


def test_what_a_program_asks_is_recorded_by_the_tap() -> None:
    """Its request, its connection and its socket are in the events."""

    connected = threading.Event()

    async def serve() -> tuple[list[Event], int]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"{}")
            writer.write(ANSWER)
            await writer.drain()
            await asyncio.to_thread(connected.wait, 60)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        free = tap_listener()
        port = free.getsockname()[1]
        free.close()
        async with server:
            seen = await asyncio.to_thread(
                play, ASK_AND_LEAVE, upstream=url, port=port, connected=connected
            )
        return seen, port

    events, port = asyncio.run(serve())
    observed = read_observed(events, port)
    (exchange,) = observed.exchanges
    assert exchange.asked.path == "/v1/completions"
    assert exchange.how == "framed"
    assert len(observed.connections) == 1
    sockets = {s.peer_port for sample in observed.samples for s in sample.sockets}
    assert port in sockets
