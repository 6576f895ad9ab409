"""Slots and the queue before them; the part that can stick."""

from __future__ import annotations

from collections import deque

from exonerate.lab.duplex import Duplex, happened
from exonerate.lab.scripted_engine.metrics_page import Counters


class Scheduler:
    """Admits requests in their order, as long as there are slots and it is not stuck."""

    def __init__(self, slots: int, counters: Counters) -> None:
        self._slots = slots
        self._counters = counters
        self._queue: deque[Duplex] = deque()
        self.stuck = False

    async def admitted(self, client: Duplex, *, notice_abort: bool) -> bool:
        """Wait for a slot; false when the client left before it got one."""
        self._queue.append(client)
        self._counters.waiting = len(self._queue)
        while self.stuck or self._queue[0] is not client or not self._free():
            if client.lost or (client.gone and notice_abort):
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
        self._counters.running -= 1
        self._counters.held_slots += leak
        self._wake()

    def _free(self) -> bool:
        return self._counters.running + self._counters.held_slots < self._slots

    def _wake(self) -> None:
        for client in self._queue:
            client.changed.set()
