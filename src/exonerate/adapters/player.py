"""The one player: performs a scene in a task group and returns its events, stamped on one clock.

What an activity does is a performer's business (`adapters.performers`); when it begins, what it
waits for, when it is skipped and when it must end is decided here and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from exonerate.adapters.headway import Headway
from exonerate.adapters.lanes import Lanes
from exonerate.adapters.turns import Turns
from exonerate.core.instant import NS_PER_S
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock, Progress
from exonerate.core.scene import Activity, Event, Scene, Stall, WatchSockets
from exonerate.errors import ExonerateError

FIRST_LOOK_S = 2.0
"""A starved host may take that long for its first reading of the sockets."""


class ActivityFailed(Exception):
    """The activity did not reach its aim; what depends on it is skipped.

    Its ``failed`` event says why, and holds `detail` besides.
    """

    def __init__(self, why: str, detail: JsonObject | None = None) -> None:
        super().__init__(why)
        self.detail: JsonObject = detail or {}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A round that waits for longer than usual; `ended` is set when it has ended."""

    round: int
    ended: asyncio.Event


@dataclass(slots=True)
class Stage:
    """Where a scene is played: what performers may use."""

    clock: Clock
    triggers: Mapping[str, Stall]
    progress: Progress
    play_more: Callable[[Sequence[Activity]], Awaitable[None]]
    start: Callable[[Awaitable[None]], None]
    events: list[Event] = field(default_factory=list)
    waiting: dict[str, Waiting] = field(default_factory=dict)
    """Watched sessions whose round waits, or has waited."""
    unanswered: dict[str, asyncio.Event] = field(default_factory=dict)
    """Hops at which a watched round was asked, and what is set when its first token comes, or it
    is over."""
    failed_rounds: dict[str, int] = field(default_factory=dict)
    """Sessions that failed, and in which round."""
    turns: Turns = field(default_factory=Turns)
    lanes: Lanes = field(default_factory=Lanes)
    headway: Headway = field(default_factory=Headway)
    first_looks: Mapping[str, asyncio.Event] = field(default_factory=dict)
    """By watcher of sockets: what is set when it has looked for the first time, or is over."""

    def looked(self, watcher: str) -> None:
        """A watcher of sockets has looked."""
        if watcher in self.first_looks:
            self.first_looks[watcher].set()

    async def watched(self) -> None:
        """Wait until all watchers of sockets have looked once, or for `FIRST_LOOK_S`.

        What a request adds to the counters is told from what was there before it.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LOOK_S):
                for event in self.first_looks.values():
                    await event.wait()

    def emit(self, activity: str, kind: str, data: JsonObject) -> None:
        """Add one event, stamped now."""
        self.events.append(Event(activity, self.clock.now(), kind, data))


Performer: TypeAlias = Callable[[Activity, Stage], Awaitable[None]]


class ScenePlayer:
    """Plays scenes with the performers it was given, one for each type of activity."""

    def __init__(self, *, clock: Clock, performers: Mapping[type[Activity], Performer]) -> None:
        self._clock = clock
        self._performers = performers

    async def play(self, scene: Scene, progress: Progress) -> Sequence[Event]:
        """Every event of the scene, in the order of their stamps.

        Ends when every activity that is not in the background has ended, or at the scene's limit
        in time, which is then an event of kind ``failed`` of the activity ``scene``. Whatever
        interrupts the scene carries what was seen so far in its attribute `events`.

        Raises:
            ExonerateError: the operator must change something before the scene can be played.
        """
        playing = _Playing(scene, self._performers, self._clock, progress)
        try:
            await playing.run()
        except BaseException as interruption:
            cause = _of_the_operator(interruption) or interruption
            cause.events = _in_order(playing.stage.events)  # type: ignore[attr-defined]  # read by the driver
            if cause is interruption:
                raise
            raise cause from interruption
        return _in_order(playing.stage.events)


class _Playing:
    """One scene while it is played."""

    def __init__(
        self,
        scene: Scene,
        performers: Mapping[type[Activity], Performer],
        clock: Clock,
        progress: Progress,
    ) -> None:
        self._scene = scene
        self._performers = performers
        self._ended: dict[str, asyncio.Event] = {a.name: asyncio.Event() for a in scene.activities}
        self._went_well: set[str] = set()
        self._foreground: asyncio.TaskGroup | None = None
        self.stage = Stage(
            clock=clock,
            triggers={trigger.session: trigger for trigger in scene.triggers},
            progress=progress,
            play_more=self._play_more,
            start=self._start,
            first_looks={
                a.name: asyncio.Event() for a in scene.activities if isinstance(a, WatchSockets)
            },
        )

    async def run(self) -> None:
        """Play everything; background activities end with the last of the others."""
        behind = [activity for activity in self._scene.activities if is_background(activity)]
        front = [activity for activity in self._scene.activities if not is_background(activity)]
        async with asyncio.TaskGroup() as background:
            tasks = [background.create_task(self._play(activity)) for activity in behind]
            try:
                async with asyncio.timeout(self._scene.time_limit_s):
                    async with asyncio.TaskGroup() as foreground:
                        self._foreground = foreground
                        for activity in front:
                            foreground.create_task(self._play(activity))
            except TimeoutError:
                why = f"the scene did not end within {self._scene.time_limit_s:g} s"
                self.stage.emit("scene", "failed", {"why": why})
            finally:
                self._foreground = None
                for task in tasks:
                    task.cancel()

    def _start(self, work: Awaitable[None]) -> None:
        assert self._foreground is not None
        self._foreground.create_task(_finish(work))

    async def _play_more(self, activities: Sequence[Activity]) -> None:
        for activity in activities:
            self._ended[activity.name] = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for activity in activities:
                group.create_task(self._play(activity))

    async def _play(self, activity: Activity) -> None:
        try:
            if not await self._ready(activity):
                return
            await self._performers[type(activity)](activity, self.stage)
            self._went_well.add(activity.name)
        except ActivityFailed as failure:
            self.stage.emit(activity.name, "failed", {**failure.detail, "why": str(failure)})
        finally:
            self._ended[activity.name].set()
            self.stage.headway.over(activity.name)
            self.stage.looked(activity.name)

    async def _ready(self, activity: Activity) -> bool:
        """Wait for what comes before; False when one of those failed that must end well."""
        for name in (*getattr(activity, "once_over", ()), *activity.after):
            await self._ended[name].wait()
        broken = [name for name in activity.after if name not in self._went_well]
        if broken:
            self.stage.emit(activity.name, "skipped", {"because": broken})
            return False
        if activity.start_s > 0:
            await asyncio.sleep(activity.start_s)
        return True


def _of_the_operator(raised: BaseException) -> ExonerateError | None:
    """The operator's error inside the groups that activities raise, if nothing else is there."""
    if isinstance(raised, ExonerateError):
        return raised
    if not isinstance(raised, BaseExceptionGroup):
        return None
    causes = [_of_the_operator(inner) for inner in raised.exceptions]
    return causes[0] if all(causes) else None


def is_background(activity: Activity) -> bool:
    """Whether the activity ends with the others (of a trigger: with the round that stalled)."""
    return bool(getattr(activity, "background", False))


def _in_order(events: Sequence[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event.at_ns)


async def _finish(work: Awaitable[None]) -> None:
    await work


def seconds_since(clock: Clock, begun_ns: int) -> float:
    """Seconds from a stamp until now."""
    return (clock.now() - begun_ns) / NS_PER_S
