"""Who listens at a hop, and that it is still the same process."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Sequence

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.performers.watching import SocketPerformer
from exonerate.adapters.player import ScenePlayer
from exonerate.core.scene import Event, Scene, WatchSockets

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


def test_a_process_that_was_started_again_is_another_one() -> None:
    """The port stays, its owner changes; in between nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = [listener(port)]
    watch = WatchSockets(
        name="sockets", hop="engine", host="127.0.0.1", port=port, count=10_000, every_s=0.02,
        background=True,
    )  # fmt: skip
    seen: list[Sequence[str]] = []

    async def run() -> Sequence[Event]:
        player = ScenePlayer(
            clock=SystemClock(),
            performers={WatchSockets: SocketPerformer()},
        )
        foreground = WatchSockets(
            name="paced", hop="engine", host="127.0.0.1", port=port, count=40, every_s=0.03
        )
        scene = Scene(id="s", why="", activities=(watch, foreground), time_limit_s=20.0)
        async with asyncio.TaskGroup() as group:
            playing = group.create_task(player.play(scene, lambda _text, _fraction: None))
            await asyncio.sleep(0.3)
            processes[0].communicate()
            processes.append(await asyncio.to_thread(listener, port))
        return playing.result()

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
