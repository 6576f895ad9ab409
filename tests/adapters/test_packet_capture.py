"""A capture that outlives the scenes and tells each what came in its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from tests.support.wire_packets import CABLE, CLIENT, SERVER, tcp

from exonerate.adapters.clock import SystemClock
from exonerate.adapters.packet_capture import StandingCapture, open_capture
from exonerate.adapters.packet_ring import Captured
from exonerate.adapters.player import Performer, ScenePlayer, Stage
from exonerate.core.scene import (
    Activity,
    Event,
    ProbeSession,
    PromptRecipe,
    RequestRecipe,
    Scene,
    WatchPackets,
)
from exonerate.core.wire.packets.filter import PORTS_MAX
from exonerate.core.wire.packets.seen import Capture, capture_from_json
from exonerate.errors import ExonerateError


class Ring:
    """Stands in for the kernel's ring: what it holds comes, and how much was dropped."""

    def __init__(self) -> None:
        self.waiting: list[Captured] = []
        self.dropped = 0

    def packets(self, packets_max: int) -> Iterator[Captured]:
        """The oldest first."""
        for _ in range(min(packets_max, len(self.waiting))):
            yield self.waiting.pop(0)

    def count_dropped(self) -> int:
        """Since the beginning."""
        return self.dropped

    def comes(self, payload: bytes, sequence: int) -> None:
        """A packet from the client comes now."""
        packet = tcp(CLIENT, SERVER, sequence=sequence, payload=payload)
        now_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self.waiting.append(Captured(packet, len(packet), now_ns, CABLE))


def scene(number: int) -> Scene:
    """A scene that watches packets while a session is played."""
    session = ProbeSession(
        name="victim", hop="edge", url="http://127.0.0.1:1", rounds=1, connection="fresh",
        think_s=0.0, deadline_s=1.0,
        request=RequestRecipe(
            path="/", model="m", prompt=PromptRecipe(seed=1, prompt_tokens=1), max_tokens=1
        ),
    )  # fmt: skip
    watch = WatchPackets(name="packets", ports=(8000,))
    return Scene(id=f"s{number}", why="", activities=(watch, session))


def played(ring: Ring, pieces: list[bytes]) -> list[Capture]:
    """What each scene is told, in each of which one of these pieces is sent."""
    capture = StandingCapture(ring, [8000], SystemClock())
    sent = 0

    async def play_session(activity: Activity, stage: Stage) -> None:
        nonlocal sent
        # The kernel's clock and ours are compared to within less than this.
        await asyncio.sleep(0.02)
        ring.comes(pieces[0], sent)
        sent += len(pieces.pop(0))
        # Until what watches has been told of it: both begin in the same turn of the loop.
        await asyncio.sleep(0)

    async def play() -> list[Event]:
        performers: dict[type[Activity], Performer] = {
            WatchPackets: capture,
            ProbeSession: play_session,
        }
        player = ScenePlayer(clock=SystemClock(), performers=performers)
        events: list[Event] = []
        for number in range(len(pieces)):
            events.extend(await player.play(scene(number), lambda what, share: None))
        return events

    events = asyncio.run(capture.during(play()))
    return [capture_from_json(event.data) for event in events if event.kind == "packets"]


def test_each_scene_is_told_of_its_own_time() -> None:
    """A connection that lasts is known from the first scene on."""
    first, second = played(Ring(), [b"abc", b"defgh"])
    assert [t.request_bytes for c in first.connections for t in c.turns] == [3]
    assert [t.request_bytes for c in second.connections for t in c.turns] == [8]
    assert (first.packets, second.packets) == (1, 1)
    assert first.until_ns <= second.since_ns
    assert first.whole


def test_packets_that_were_dropped_in_a_scene_are_counted_there() -> None:
    """Those from before it are not its own."""
    ring = Ring()
    ring.dropped = 5
    (capture,) = played(ring, [b"abc"])
    assert capture.dropped == 0


def test_more_ports_than_a_filter_can_hold_are_refused() -> None:
    """In words, before anything is captured."""
    with (
        pytest.raises(ExonerateError, match="ports cannot be captured"),
        open_capture(range(1, PORTS_MAX + 2), SystemClock()),
    ):
        raise AssertionError("it was opened")
