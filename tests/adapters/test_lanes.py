"""How many requests of a scene are under way at an address, seen by the server that gets them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from tests.support.probed import ANSWER, play, server, session, take_request
from tests.support.skipped_time import played

from exonerate.core.scene import Event, ProbeSession, Scene, Stall


@dataclass
class Busy:
    """How many requests a server has under way, and the most of it."""

    port: int = 0
    now: int = 0
    most: int = 0
    taken: int = 0


@asynccontextmanager
async def counting_server(answer_s: float | None) -> AsyncIterator[Busy]:
    """A server that answers after a while, or never."""
    busy = Busy()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await take_request(reader)
                busy.now += 1
                busy.taken += 1
                busy.most = max(busy.most, busy.now)
                try:
                    if answer_s is None:
                        await reader.read()
                        return
                    await asyncio.sleep(answer_s)
                finally:
                    busy.now -= 1
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    started = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with started:
        busy.port = started.sockets[0].getsockname()[1]
        yield busy


def in_lane(plain: ProbeSession, *, taken: Literal["wait", "leave"] = "wait") -> ProbeSession:
    """The session in a lane."""
    return replace(plain, lane="beside@edge", lane_taken=taken, connection="fresh")


def ended(events: Sequence[Event]) -> dict[str, int]:
    """How many rounds of each session were played."""
    found: dict[str, int] = {}
    for event in events:
        if event.kind == "exchange":
            found[event.activity] = found.get(event.activity, 0) + 1
    return found


def failures(events: Sequence[Event]) -> dict[str, str]:
    """Why activities failed."""
    return {e.activity: str(e.data["why"]) for e in events if e.kind == "failed"}


def test_one_request_is_under_way_in_a_lane_and_each_gets_its_turn() -> None:
    """Rounds of long rows and single ones; what is in no lane goes beside them."""

    async def run() -> tuple[Busy, Sequence[Event]]:
        async with counting_server(0.2) as busy:
            rows = [in_lane(session(f"row-{n}", busy.port, rounds=n)) for n in range(1, 5)]
            alone = replace(session("victim", busy.port, rounds=6), think_s=0.05)
            return busy, await play(Scene(id="s", why="t", activities=(*rows, alone)))

    busy, events = played(run())
    assert ended(events) == {"row-1": 1, "row-2": 2, "row-3": 3, "row-4": 4, "victim": 6}
    assert busy.most == 2


def test_what_may_not_be_late_is_not_sent_where_the_lane_is_taken() -> None:
    """It says so; once the lane is free the next one is sent."""

    async def run() -> tuple[Busy, Sequence[Event]]:
        async with counting_server(0.5) as busy:
            answers = [
                in_lane(replace(session(f"kept-{n}", busy.port, rounds=1), start_s=n * 0.3),
                        taken="leave")
                for n in range(4)
            ]  # fmt: skip
            return busy, await play(Scene(id="s", why="t", activities=tuple(answers)))

    busy, events = played(run())
    assert (busy.most, sorted(ended(events))) == (1, ["kept-0", "kept-2"])
    assert set(failures(events)) == {"kept-1", "kept-3"}
    assert all("nothing sent" in why for why in failures(events).values())


def test_a_wide_lane_has_room_for_so_many() -> None:
    """Five rows of three requests at once, and never more than two of them under way."""

    async def run() -> tuple[Busy, Sequence[Event]]:
        async with counting_server(0.2) as busy:
            rows = [
                replace(in_lane(session(f"row-{n}", busy.port, rounds=3)), lane_width=2)
                for n in range(5)
            ]
            return busy, await play(Scene(id="s", why="t", activities=tuple(rows)))

    busy, events = played(run())
    assert (busy.most, busy.taken, set(ended(events).values())) == (2, 15, {3})


def test_what_waits_for_its_lane_is_not_sent_once_the_round_is_over_that_it_was_for() -> None:
    """Else it would be asked after the wait, and say something of another moment."""

    async def run() -> tuple[Busy, Sequence[Event]]:
        async with counting_server(None) as hangs, server(silent_from=1) as edge:
            side = in_lane(session("side", hangs.port, rounds=1, deadline_s=9.0))
            late = in_lane(session("late", hangs.port, rounds=1, deadline_s=9.0))
            after = in_lane(session("after", hangs.port, rounds=1, deadline_s=1.0))
            trigger = Stall(session="victim", after_s=0.3, play=(late,), give_up_ratio=2.0)
            victim = session("victim", edge, rounds=1, deadline_s=3.0)
            activities = (side, victim, replace(after, start_s=5.0))
            scene = Scene(id="s", why="t", activities=activities, triggers=(trigger,))
            return hangs, await play(scene)

    hangs, events = played(run())
    assert ended(events) == {"side": 1, "victim": 1, "after": 1}
    assert (hangs.most, hangs.taken) == (1, 2)
    assert "nothing sent" in failures(events)["late"]


def test_a_lane_is_free_again_after_one_that_was_given_up_or_interrupted() -> None:
    """Whether a round ends by its deadline, by a trigger or with the scene."""

    async def run() -> tuple[Busy, Sequence[Event]]:
        async with counting_server(None) as hangs, server(silent_from=99) as engine:
            first = in_lane(session("first", hangs.port, rounds=1, deadline_s=60.0))
            direct = replace(session("direct", engine, rounds=4), hop="engine", think_s=0.3)
            given_up = Stall(
                session="first", after_s=0.2, play=(), give_up_ratio=2.0, beside=("engine",)
            )
            second = in_lane(session("second", hangs.port, rounds=1, deadline_s=0.5))
            third = in_lane(session("third", hangs.port, rounds=1, deadline_s=60.0))
            activities = (first, direct, second, third)
            scene = Scene(
                id="s", why="t", activities=activities, triggers=(given_up,), time_limit_s=5.0
            )
            return hangs, await play(scene)

    hangs, events = played(run())
    ends = {e.activity: e.data["given_up"] for e in events if e.kind == "exchange"}
    assert ends == {
        "first": "provisional", "second": "deadline", "third": "interrupted", "direct": "no",
    }  # fmt: skip
    assert hangs.most == 1
