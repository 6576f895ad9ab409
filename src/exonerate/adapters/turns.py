"""Turns: sessions that overlap, with one of their requests waiting for its first token at a time.

Sessions at several hops of one path end at the same engine. Sent at once, their requests would be
each other's queue, and what is measured would be our own load. A turn ends with the first token,
with the round, or after several times what anybody has waited for one so far, so that a round that
hangs holds nobody up.
"""

from __future__ import annotations

import asyncio

TURN_S_MAX = 1.0
"""As long as nobody was answered, and on slow engines."""
TURN_S_MIN = 0.25
TURN_RATIO = 4.0
"""How much longer than any wait so far a turn may take; a wait this long is a stall, too."""


class Turns:
    """Whose turn it is, and how long anybody has waited for a first token."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._longest_s: float | None = None

    @property
    def limit_s(self) -> float:
        """When a turn is over though no first token has come."""
        if self._longest_s is None:
            return TURN_S_MAX
        return min(TURN_S_MAX, max(TURN_S_MIN, TURN_RATIO * self._longest_s))

    def answered(self, waited_s: float) -> None:
        """A first token came after this long."""
        self._longest_s = max(waited_s, self._longest_s or 0.0)


class Turn:
    """One session's place among those that share the lock."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._timer: asyncio.TimerHandle | None = None
        self._taken_s: float | None = None

    async def take(self) -> None:
        """Wait until it is this session's turn."""
        await self._turns.lock.acquire()
        loop = asyncio.get_running_loop()
        self._taken_s = loop.time()
        self._timer = loop.call_later(self._turns.limit_s, self.give_back)

    def answered(self) -> None:
        """The first token came, be it after the turn was over; let the next one go."""
        if self._taken_s is not None:
            self._turns.answered(asyncio.get_running_loop().time() - self._taken_s)
            self._taken_s = None
        self.give_back()

    def give_back(self) -> None:
        """Let the next one go; nothing where it was already given back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._turns.lock.release()
