"""Lanes: of the sessions in one lane, one request is under way at a time, or few.

What is asked beside the victim's own requests must not heap up at an address. A session takes its
lane for each of its rounds, in the order in which they ask for it; one that no longer matters by
the time its turn has come is turned away, and so is one that may not be late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from exonerate.core.scene import ProbeSession


class Place:
    """One session's place in its lane."""

    def __init__(self, lane: asyncio.Semaphore, *, may_wait: bool) -> None:
        self._lane = lane
        self._may_wait = may_wait
        self._holds = False
        self._waiting: asyncio.Timeout | None = None
        self.turned_away = False

    async def take(self) -> bool:
        """Wait until there is room in the lane; False where nothing may be sent (any more)."""
        if self._lane.locked() and not self._may_wait:
            self.turned_away = True
        if self.turned_away:
            return False
        try:
            async with asyncio.timeout(None) as self._waiting:
                await self._lane.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting = None
        self._holds = True
        if self.turned_away:
            # In the moment in which it got its turn.
            self.leave()
        return self._holds

    def leave(self) -> None:
        """Let the next one go; nothing where the lane is not held."""
        if self._holds:
            self._holds = False
            self._lane.release()

    def turn_away(self) -> None:
        """Send nothing more, unless a request is under way: the session ends with that one."""
        if self._waiting is not None and not self.turned_away:
            self._waiting.reschedule(asyncio.get_running_loop().time())
        self.turned_away = True


class Lanes:
    """The lanes of one scene."""

    def __init__(self) -> None:
        self._lanes: dict[str, asyncio.Semaphore] = {}
        self._places: dict[str, Place] = {}
        self._unwanted: set[str] = set()

    def place(self, session: ProbeSession) -> Place | None:
        """Where the session stands; None for one that is in no lane."""
        if session.lane is None:
            return None
        lane = self._lanes.setdefault(session.lane, asyncio.Semaphore(session.lane_width))
        place = Place(lane, may_wait=session.lane_taken == "wait")
        place.turned_away = session.name in self._unwanted
        self._places[session.name] = place
        return place

    def turn_away(self, sessions: Iterable[str]) -> None:
        """Nothing more is wanted of these for now; what they have under way goes on."""
        for name in sessions:
            self._unwanted.add(name)
            if name in self._places:
                self._places[name].turn_away()

    def want(self, sessions: Iterable[str]) -> None:
        """Sessions of these names are wanted from now on."""
        self._unwanted.difference_update(sessions)
