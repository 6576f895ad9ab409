"""When a load run sends what: closed loop, open loop, and sessions of agents.

A plan is asked for work (`take`), told when an answer has ended (`ended`), and says when it will
have work next (`next_due_ns`). It knows neither sockets nor clocks: times are given to it.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from exonerate.core.instant import NS_PER_S


@dataclass(frozen=True, slots=True)
class Work:
    """One request to send; `lane` is the session or slot that it belongs to.

    `intended_ns` is when it ought to go out: its time in an open loop, the end of the lane's last
    answer (and thinking) in a closed one.
    """

    index: int
    intended_ns: int
    lane: int
    round_number: int = 1


class Plan(Protocol):
    """Decides which request is sent next and when."""

    def take(self, now_ns: int) -> Work | None:
        """The next request that is due, or None for now."""

    def ended(self, work: Work, now_ns: int) -> None:
        """The answer to this request has ended, well or not."""

    def next_due_ns(self) -> int | None:
        """When `take` will have work that only time brings, or None."""

    def over(self) -> bool:
        """Nothing will come any more, once what is in flight has ended."""


class ClosedPlan:
    """As many requests in flight as `concurrency`, until `requests` were sent or until a time."""

    def __init__(
        self, *, concurrency: int, requests: int | None, until_ns: int | None = None
    ) -> None:
        self._free = [(lane, 0) for lane in range(concurrency)][::-1]
        self._left = requests
        self._until_ns = until_ns
        self._next = 0

    def take(self, now_ns: int) -> Work | None:
        """A request for a free lane."""
        if self._until_ns is not None and now_ns >= self._until_ns:
            self._left, self._until_ns = 0, None
        if not self._free or self.over():
            return None
        if self._left is not None:
            self._left -= 1
        self._next += 1
        lane, freed_ns = self._free.pop()
        return Work(self._next - 1, freed_ns or now_ns, lane)

    def ended(self, work: Work, now_ns: int) -> None:
        """Its lane is free again."""
        self._free.append((work.lane, now_ns))

    def next_due_ns(self) -> int | None:
        """When the time is over; else only an ended answer brings work."""
        return self._until_ns

    def over(self) -> bool:
        """Every request was sent, or the time is over."""
        return self._left == 0


class OpenPlan:
    """Each request at its own time, whether or not the ones before it were answered."""

    def __init__(self, offsets_ns: Sequence[int], begin_ns: int) -> None:
        self._due = [begin_ns + offset for offset in sorted(offsets_ns)]
        self._next = 0

    def take(self, now_ns: int) -> Work | None:
        """The next request whose time has come."""
        if self.over() or self._due[self._next] > now_ns:
            return None
        self._next += 1
        return Work(self._next - 1, self._due[self._next - 1], self._next - 1)

    def ended(self, work: Work, now_ns: int) -> None:
        """An open loop does not care."""

    def next_due_ns(self) -> int | None:
        """The intended time of the next request."""
        return None if self.over() else self._due[self._next]

    def over(self) -> bool:
        """Every request was sent."""
        return self._next == len(self._due)


class SessionPlan:
    """Agents: each lane sends its rounds one after the other, thinking in between.

    A lane that has finished a session begins the next one, until `sessions` have begun. A round
    that fails ends its session, as `failed` says.
    """

    def __init__(self, *, concurrency: int, sessions: int, rounds: int, think_ns: int) -> None:
        self._rounds = rounds
        self._think_ns = think_ns
        self._sessions_left = sessions
        self._begun = 0
        self._due: list[tuple[int, int, int]] = []
        for _ in range(min(concurrency, sessions)):
            self._begin_session(0)

    def take(self, now_ns: int) -> Work | None:
        """The round of a session that has thought long enough."""
        if not self._due or self._due[0][0] > now_ns:
            return None
        due_ns, session, round_number = heapq.heappop(self._due)
        index = session * self._rounds + round_number - 1
        return Work(index, due_ns or now_ns, session, round_number)

    def ended(self, work: Work, now_ns: int) -> None:
        """Think, then send the next round, or begin another session."""
        if work.round_number < self._rounds:
            due_ns = now_ns + self._think_ns
            heapq.heappush(self._due, (due_ns, work.lane, work.round_number + 1))
        elif self._sessions_left:
            self._begin_session(now_ns)

    def next_due_ns(self) -> int | None:
        """When the first of the thinking sessions goes on."""
        return self._due[0][0] if self._due else None

    def over(self) -> bool:
        """Every session has begun and none is thinking."""
        return not self._sessions_left and not self._due

    def _begin_session(self, due_ns: int) -> None:
        heapq.heappush(self._due, (due_ns, self._begun, 1))
        self._begun += 1
        self._sessions_left -= 1


def poisson_offsets(rate_per_s: float, count: int, rng: random.Random) -> list[int]:
    """Arrival times of a Poisson process, in nanoseconds after the begin."""
    at_s = 0.0
    offsets: list[int] = []
    for _ in range(count):
        at_s += rng.expovariate(rate_per_s)
        offsets.append(int(at_s * NS_PER_S))
    return offsets


def constant_offsets(rate_per_s: float, count: int) -> list[int]:
    """Evenly spaced arrival times, in nanoseconds after the begin."""
    return [int(index * NS_PER_S / rate_per_s) for index in range(count)]
