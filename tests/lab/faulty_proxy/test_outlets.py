"""When bytes may leave, on a clock that the test moves."""

from __future__ import annotations

from exonerate.lab.faulty_proxy.outlets import outlet_for
from exonerate.lab.faulty_proxy.rules import Buffer, Delay, Swallow, Throttle


def test_direct() -> None:
    """Without a pacing action everything leaves at once."""
    outlet = outlet_for([Swallow()])
    outlet.put(b"abc", 0.0)
    assert outlet.ready(0.0) == b"abc"
    assert outlet.empty
    assert outlet.wake_at() is None


def test_buffer_until_the_end_or_full() -> None:
    """A buffer holds everything until the end, or until it is full."""
    outlet = outlet_for([Buffer(limit_bytes=5)])
    outlet.put(b"abc", 0.0)
    assert outlet.ready(9.0) == b""
    outlet.put(b"def", 9.0)
    assert outlet.ready(9.0) == b"abcdef"
    outlet.put(b"g", 9.0)
    assert outlet.ready(9.0) == b""
    outlet.finish(9.5)
    assert outlet.ready(9.5) == b"g"


def test_window() -> None:
    """What comes within a window leaves together when the window closes."""
    outlet = outlet_for([Buffer(window_s=0.2)])
    outlet.put(b"a", 1.0)
    outlet.put(b"b", 1.1)
    assert outlet.ready(1.1) == b""
    assert outlet.wake_at() == 1.2
    assert outlet.ready(1.2) == b"ab"
    assert outlet.wake_at() is None


def test_late() -> None:
    """A late answer begins after its delay and then runs on without one."""
    outlet = outlet_for([Delay(seconds=2.0, what="answer")])
    outlet.put(b"a", 1.0)
    assert outlet.ready(2.9) == b""
    assert outlet.wake_at() == 3.0
    assert outlet.ready(3.0) == b"a"
    outlet.put(b"b", 3.1)
    assert outlet.ready(3.1) == b"b"


def test_throttle() -> None:
    """A throttled answer leaves in portions that keep to the rate."""
    outlet = outlet_for([Throttle(bytes_per_s=100.0)])
    outlet.put(b"x" * 10, 0.0)
    now, left = 0.0, b""
    while not outlet.empty:
        left += outlet.ready(now)
        now = outlet.wake_at() or now
    assert left == b"x" * 10
    assert 0.07 <= now <= 0.11
