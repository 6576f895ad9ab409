"""When the bytes of an answer leave: at once, late, in portions, at a rate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from exonerate.lab.faulty_proxy.rules import Action, Buffer, Delay, Throttle

# Portions of a throttled answer: small enough to look like a slow link, not like bursts.
THROTTLE_STEP_S = 0.02


class Outlet(Protocol):
    """Takes bytes and gives them back when they may leave."""

    def put(self, data: bytes, now: float) -> None:
        """Bytes that shall leave."""

    def finish(self, now: float) -> None:
        """Nothing more will come."""

    def ready(self, now: float) -> bytes:
        """The bytes that leave now."""

    def wake_at(self) -> float | None:
        """When to ask again, or None while that depends on what comes."""

    @property
    def empty(self) -> bool:
        """Whether everything has left."""


class _Held:
    """What every outlet keeps."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._finished = False

    def put(self, data: bytes, now: float) -> None:
        """Keep the bytes."""
        self._held += data

    def finish(self, now: float) -> None:
        """Note the end."""
        self._finished = True

    def wake_at(self) -> float | None:
        """Nothing leaves by time alone."""
        return None

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    def _all(self) -> bytes:
        data = bytes(self._held)
        self._held.clear()
        return data


class DirectOutlet(_Held):
    """Everything leaves at once."""

    def ready(self, now: float) -> bytes:
        """All there is."""
        return self._all()


class LateOutlet(_Held):
    """The answer begins some time after it could; from then on it leaves at once."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._from: float | None = None

    def put(self, data: bytes, now: float) -> None:
        """The first byte sets the moment."""
        super().put(data, now)
        if self._from is None:
            self._from = now + self._seconds

    def ready(self, now: float) -> bytes:
        """All there is, once the moment has come."""
        return self._all() if self._from is not None and now >= self._from else b""

    def wake_at(self) -> float | None:
        """The moment, while something waits for it."""
        return self._from if self._held else None


class BufferOutlet(_Held):
    """The answer leaves when it is whole, when the buffer is full, or once in each window."""

    def __init__(self, action: Buffer) -> None:
        super().__init__()
        self._action = action
        self._window_end: float | None = None

    def put(self, data: bytes, now: float) -> None:
        """The first bytes of a window open it."""
        super().put(data, now)
        if self._action.window_s is not None and self._window_end is None:
            self._window_end = now + self._action.window_s

    def ready(self, now: float) -> bytes:
        """All there is, at the end, when full, or when the window closes."""
        full = len(self._held) >= self._action.limit_bytes
        closes = self._window_end is not None and now >= self._window_end
        if not (self._finished or full or closes):
            return b""
        self._window_end = None
        return self._all()

    def wake_at(self) -> float | None:
        """The end of the window."""
        return self._window_end


class ThrottledOutlet(_Held):
    """The answer leaves at a rate."""

    def __init__(self, action: Throttle) -> None:
        super().__init__()
        self._step_bytes = max(1, round(action.bytes_per_s * THROTTLE_STEP_S))
        self._step_s = self._step_bytes / action.bytes_per_s
        self._next = 0.0

    def ready(self, now: float) -> bytes:
        """One portion, when its time has come."""
        if now < self._next or not self._held:
            return b""
        self._next = now + self._step_s
        portion = bytes(self._held[: self._step_bytes])
        del self._held[: self._step_bytes]
        return portion

    def wake_at(self) -> float | None:
        """The time of the next portion."""
        return self._next if self._held else None


def outlet_for(actions: Iterable[Action]) -> Outlet:
    """The outlet that the first pacing action asks for."""
    for action in actions:
        match action:
            case Buffer():
                return BufferOutlet(action)
            case Throttle():
                return ThrottledOutlet(action)
            case Delay(seconds=seconds, what="answer"):
                return LateOutlet(seconds)
            case _:
                continue
    return DirectOutlet()
