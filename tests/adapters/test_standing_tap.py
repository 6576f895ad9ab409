"""Taps that outlive the scenes which listen to them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.player import ScenePlayer, Stage
from exonerate.adapters.standing_tap import StandingTaps, open_taps
from exonerate.core.json_access import at
from exonerate.core.scene import Activity, Event, RestartService, Scene, Tap
from exonerate.errors import ExonerateError

OURS = "exonerate-00000000000000aa"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def request(request_id: str) -> bytes:
    """A small POST with that id."""
    return (
        f"POST /v1/x HTTP/1.1\r\nhost: h\r\nx-request-id: {request_id}\r\n"
        "content-length: 2\r\n\r\n{}"
    ).encode()


class Asks:
    """Stands for the hop before the tap: asks over one connection that it keeps."""

    def __init__(self, port: int, *, answered: bool) -> None:
        self._port, self._answered = port, answered
        self._kept: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __call__(self, activity: Activity, stage: Stage) -> None:
        """One request of ours and one of somebody else's."""
        if self._kept is None:
            self._kept = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._kept
        for request_id in ("somebody-else", OURS) if self._answered else (OURS,):
            writer.write(request(request_id))
            if self._answered:
                await reader.readexactly(len(ANSWER))

    def close(self) -> None:
        """End the connection."""
        if self._kept is not None:
            self._kept[1].close()


async def hop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: bool) -> None:
    """The hop behind the tap."""
    try:
        while await reader.readuntil(b"{}"):
            if answers:
                writer.write(ANSWER)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()
    await writer.wait_closed()


async def scenes(number: int, *, answers: bool) -> list[list[Event]]:
    """The events of as many scenes, one after the other."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hop(reader, writer, answers)
        ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port, clock = free_port(), SystemClock()
    tap = Tap(
        name="tap@engine", hop="engine", listen_port=port,
        upstream_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
    )  # fmt: skip
    asks = Asks(port, answered=answers)
    activities = (tap, RestartService(name="ask", service="s", start_s=0.05))
    scene = Scene(id="s", why="", activities=activities)

    async def play(standing: StandingTaps) -> list[list[Event]]:
        player = ScenePlayer(clock=clock, performers={Tap: standing, RestartService: asks})
        try:
            return [list(await player.play(scene, lambda what, share: None)) for _ in range(number)]
        finally:
            asks.close()

    async with server:
        with open_taps([tap], {"engine": f"http://127.0.0.1:{port}"}, clock) as standing:
            events = await standing.during(play(standing))
        await ended.wait()  # the server's end of it, or the loop would leave it open
        return events


def ids(events: Sequence[Event]) -> list[object]:
    """The request ids that were recorded."""
    return [at(event.data, "asked", "request_id") for event in events]


def test_a_connection_outlives_the_scene_and_only_ours_is_recorded() -> None:
    """The second scene's request crosses the connection of the first."""
    first, second = asyncio.run(scenes(2, answers=True))
    assert (ids(first), ids(second)) == ([OURS], [OURS])
    numbers = [at(e.data, "exchange", "connection", "request_number") for e in [*first, *second]]
    assert numbers == [2, 4]


def test_a_request_that_still_waits_is_told_at_the_end_of_the_scene() -> None:
    """Without it, a hang would look like a request that never came."""
    (events,) = asyncio.run(scenes(1, answers=False))
    assert [(at(e.data, "how"), at(e.data, "answer_bytes")) for e in events] == [("open", 0)]
    assert ids(events) == [OURS]


def test_an_error_of_the_operator_passes_through() -> None:
    """The taps end, and the error is what it was."""

    async def fail() -> None:
        raise ExonerateError("problem", "hint")

    with open_taps([], {}, SystemClock()) as standing, pytest.raises(ExonerateError):
        asyncio.run(standing.during(fail()))


def test_a_tap_before_tls_or_on_a_taken_port_is_refused() -> None:
    """Both with the way out."""
    secure = Tap(name="tap@e", hop="e", listen_port=1, upstream_url="https://127.0.0.1:1")
    with (
        pytest.raises(ExonerateError, match="encrypted"),
        open_taps([secure], {"e": "http://127.0.0.1:1"}, SystemClock()),
    ):
        pass
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"http://127.0.0.1:{taken.getsockname()[1]}"
        plain = Tap(name="tap@e", hop="e", listen_port=1, upstream_url="http://127.0.0.1:1")
        with (
            pytest.raises(ExonerateError, match="cannot listen"),
            open_taps([plain], {"e": place}, SystemClock()),
        ):
            pass
