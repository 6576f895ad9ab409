"""How far each session has come, for whoever must not get ahead of it."""

from __future__ import annotations

import asyncio
import math


class Headway:
    """The number of the round that each session sent last; endless once a session is over."""

    def __init__(self) -> None:
        self._sent: dict[str, float] = {}
        self._changed = asyncio.Event()

    def sent(self, session: str, round_number: int) -> None:
        """The session has begun to wait for an answer to this round."""
        self._tell(session, round_number)

    def over(self, session: str) -> None:
        """Nothing more comes from it, whether it was ever sent or not."""
        self._tell(session, math.inf)

    async def until_sent(self, session: str, round_number: int) -> None:
        """Wait until the session has sent this round, or is over."""
        while self._sent.get(session, 0) < round_number:
            await self._changed.wait()

    def _tell(self, session: str, number: float) -> None:
        self._sent[session] = number
        self._changed.set()
        self._changed = asyncio.Event()
