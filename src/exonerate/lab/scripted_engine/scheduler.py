"""Slots and the queue before them; the part that can stick."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.scripted_engine.metrics_page import Counters


@dataclass(frozen=True, slots=True)
class Frozen:
    """The counters of a scheduler that stopped, as it wrote them last."""

    counters: Counters
    written_s: float
    """In seconds of the epoch."""


def epoch_s() -> float:
    """The wall clock."""
    return time.clock_gettime(time.CLOCK_REALTIME)


class Scheduler:
    """Admits requests in their order, as long as there are slots and it is not stuck."""

    def __init__(
        self, slots: int, counters: Counters, *, wall: Callable[[], float] = epoch_s
    ) -> None:
        self._slots = slots
        self.wall = wall
        self._counters = counters
        self._queue: deque[Duplex] = deque()
        self._accounted_s: float | None = None
        self.stuck = False
        self.frozen: Frozen | None = None

    def stick(self, *, freeze: bool) -> None:
        """Do nothing more for anybody; with `freeze`, write nothing more either."""
        self.stuck = True
        if freeze and self.frozen is None:
            self.account()
            # The request that it froze at was not written down yet.
            counters = replace(
                self._counters,
                running=self._counters.running - 1,
                finished=Counter(self._counters.finished),
            )
            self.frozen = Frozen(counters, self.wall())

    def account(self) -> None:
        """Count the time since the last call as busy, if there was work."""
        now_s = asyncio.get_running_loop().time()
        if self._accounted_s is not None and (self._queue or self._counters.running):
            self._counters.busy_s += now_s - self._accounted_s
        self._accounted_s = now_s

    async def admitted(self, client: Duplex, *, notice_abort: bool) -> bool:
        """Wait for a slot; false when the client left before it got one."""
        self.account()
        self._queue.append(client)
        self._counters.waiting = len(self._queue)
        while self.stuck or self._queue[0] is not client or not self._free():
            if client.lost or (client.gone and notice_abort):
                self.account()
                self._queue.remove(client)
                self._counters.waiting = len(self._queue)
                self._wake()
                return False
            await happened(client.changed, None)
        self._queue.popleft()
        self._counters.waiting = len(self._queue)
        self._counters.running += 1
        self._wake()
        return True

    def release(self, *, leak: bool) -> None:
        """Give a slot back, or lose it for good."""
        self.account()
        self._counters.running -= 1
        self._counters.held_slots += leak
        self._wake()

    def _free(self) -> bool:
        return self._counters.running + self._counters.held_slots < self._slots

    def _wake(self) -> None:
        for client in self._queue:
            client.changed.set()
