"""A loop whose clock stands while anything happens, and skips to the next timer when nothing does.

For tests in which both ends of every connection live in the one loop of the test, on real loopback
sockets. What is ready is done first; only when the kernel has nothing for us for `SETTLED_S` is the
next timer taken for due, and the clock stands exactly at it. So a machine that is slow or stands
still for a while changes nothing of what is seen, waits cost no time, and every measured time is
what was asked for. No threads and no other processes: what they do would seem to take no time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SETTLED_S = 0.005
"""What loopback brings to its other end is there at once; this leaves the kernel some time."""


class _Skipping(selectors.DefaultSelector):
    """Instead of waiting for a time it says that it has passed."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; nothing, with the clock set forward, where nothing will be."""
        if timeout is None:
            return super().select(None)
        ready = super().select(min(timeout, SETTLED_S))
        if not ready and timeout > 0:
            self.now_s += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """The loop with this clock."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Seconds since the loop began, of which none has passed in work."""
        return self._skipping.now_s


def played(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine in such a loop, and the last steps of what it closed."""

    async def to_the_end() -> T:
        result = await work
        for _ in range(10):
            await asyncio.sleep(0)
        return result

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(to_the_end())
