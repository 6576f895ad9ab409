"""Ctrl-C, SIGTERM and a closed terminal: the first ends the work, the clean-up is left in peace.

Rules
-----
1. The first signal cancels the coroutine under `run_async`, or else raises KeyboardInterrupt, so
   that every `finally` runs.
2. For `CLEANUP_S` after it further signals are only acknowledged: an impatient second Ctrl-C must
   not leave a process running or a change half done. Later ones break in again, should a clean-up
   hang.
3. Whatever fails while the work is being torn down is a consequence of the signal, not a defect:
   `interrupted` tells.

A signal that was ignored when we began (`nohup`, a background job of a script) stays ignored.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Coroutine
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio  # slow to import; the command line begins with this module

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLEANUP_S = 45.0
"""Longer than any clean-up of ours: a service gets 20 s to stop and 10 s to be killed."""
_NOTICE = b"\nending what was started; this takes a few seconds\n"
_STDERR = 2

T = TypeVar("T")


class _Interrupts:
    """Handlers belong to the process, so there is one of these."""

    def __init__(self) -> None:
        self.first_s: float | None = None
        self.noticed = False
        self.running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self.first_s is not None and now_s - self.first_s < CLEANUP_S:
            self._acknowledge()
            return
        self.first_s = now_s
        if self.running is None:
            raise KeyboardInterrupt
        loop, task = self.running
        loop.call_soon_threadsafe(task.cancel)

    def _acknowledge(self) -> None:
        if not self.noticed:
            self.noticed = True
            with suppress(OSError):
                os.write(_STDERR, _NOTICE)  # a buffered stream may be in the middle of a write


_STATE = _Interrupts()


def install() -> None:
    """Take over the signals that end a command; called once, before anything is started."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _STATE.on_signal)


def interrupted() -> bool:
    """Whether a signal has ended the work."""
    return _STATE.first_s is not None


def leave() -> None:
    """The clean-up is done: signals that still come must not spoil the exit status."""
    if interrupted():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to its end; a signal cancels it and lets it clean up.

    Raises:
        KeyboardInterrupt: a signal ended it, even where the coroutine had just finished.
    """
    import asyncio

    before_s = _STATE.first_s
    watched = _watched(work)
    try:
        result = asyncio.run(watched)
    except asyncio.CancelledError:
        if _STATE.first_s == before_s:
            raise
        raise KeyboardInterrupt from None
    finally:
        # A signal may come before the loop runs; what never began must not complain of it.
        watched.close()
        work.close()
    if _STATE.first_s != before_s:
        raise KeyboardInterrupt
    return result


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    import asyncio

    task = asyncio.current_task()
    assert task is not None
    _STATE.running = (asyncio.get_running_loop(), task)
    try:
        return await work
    finally:
        _STATE.running = None
