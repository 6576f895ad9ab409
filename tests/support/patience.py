"""Waiting for what other processes do: by looking again and again, for as long as it may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 90.0
"""Far more than anything takes, and less than pytest leaves to one test."""
LOOK_EVERY_S = 0.02


def until(look: Callable[[], T], what: str) -> T:
    """The first true thing that `look` finds; fails with `what` when it never finds any."""
    give_up_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < give_up_s, f"waited in vain: {what}"
        time.sleep(LOOK_EVERY_S)
    return found
