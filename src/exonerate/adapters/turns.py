"""Turns: sessions that overlap, with one of their requests waiting for its first token at a time.

Sessions at several hops of one path end at the same engine. Sent at once, their requests would be
each other's queue, and what is measured would be our own load. A turn ends with the first token,
with the round, or after `TURN_S`, so that a round that hangs holds nobody up.
"""

from __future__ import annotations

import asyncio

TURN_S = 1.0


class Turn:
    """One session's place among those that share the lock."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._timer: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        """Wait until it is this session's turn."""
        await self._lock.acquire()
        self._timer = asyncio.get_running_loop().call_later(TURN_S, self.give_back)

    def give_back(self) -> None:
        """Let the next one go; nothing where it was already given back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._lock.release()
