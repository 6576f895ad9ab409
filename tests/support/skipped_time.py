"""A loop whose clock stands while anything happens, and skips to the next timer when nothing does.

For tests in which both ends of every connection live in the one loop of the test, on real loopback
sockets. What is ready is done first; only when the kernel brings nothing for a moment is the next
timer taken for due, and the clock stands just behind it. So a machine that is slow, or stands still
for a while, changes nothing of what is seen; waits cost no time; and what is measured on this clock
is what was asked for. Threads of the loop's executor are waited for. Other processes must not be
part of it: whatever they do would seem to take no time.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

SETTLED_S = 0.005
SETTLED_SHARE = 0.02
"""What loopback brings to its other end is there at once. This leaves the kernel a moment all the
same, and a longer one before a longer wait is given up."""
LATE_S = 1e-6
"""A timer is never early, nor on time to the last digit of a float."""
NO_SUCH_OPTION = 0x7FFF
NS_PER_S = 1_000_000_000


class _Skipping(selectors.DefaultSelector):
    """Instead of waiting for a time it says that it has passed."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = time.monotonic()
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; nothing, with the clock set forward, where nothing will be."""
        if timeout is None or self.threads:
            return super().select(timeout)
        ready = super().select(min(timeout, SETTLED_S + SETTLED_SHARE * timeout))
        if not ready and timeout > 0:
            self.now_s += timeout + LATE_S
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """The loop with this clock."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Seconds, of which none passes in work."""
        return self._skipping.now_s

    def run_in_executor(  # type: ignore[override]  # asyncio types it more loosely
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """The same, and the clock stands until it is done."""
        self._skipping.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _future: asyncio.Future[Any]) -> None:
        self._skipping.threads -= 1


def _stamps(clock: Callable[[], float]) -> Callable[[], int]:
    """Nanoseconds of the clock; what is stamped later has a later stamp."""
    latest_ns = 0

    def stamp() -> int:
        nonlocal latest_ns
        latest_ns = max(latest_ns + 1, round(clock() * NS_PER_S))
        return latest_ns

    return stamp


def played(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine in such a loop, and the last steps of what it closed.

    Stamps of the monotonic clock are of this clock too; the kernel, which has its own, gives none.
    """

    async def to_the_end() -> T:
        result = await work
        for _ in range(10):
            await asyncio.sleep(0)
        return result

    with (
        asyncio.Runner(loop_factory=SkippingLoop) as runner,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(time, "monotonic_ns", _stamps(runner.get_loop().time))
        patch.setattr("exonerate.adapters.transport.SO_TIMESTAMPNS", NO_SUCH_OPTION)
        return runner.run(to_the_end())
