"""The load loop: many streams on one core, read by epoll and `recvmsg`, parsed afterwards.

For each wake-up the clock is read once, first thing. For each readable socket the bytes and the
kernel's stamp are kept and, as long as the answer is an ordinary stream in its middle, nothing else
is done. Everything rare (connecting, heads, ends, errors, deadlines) is in `load_slot` and here in
the methods below `_read`.

Sockets are reported when something new has come (`EPOLLET`), which spares the kernel a second look
at each one that was read. A read of fewer bytes than asked for has emptied its socket (epoll(7));
after any other, and where the end or an error is reported beside the bytes, the socket is reported
once more.

With `batch_s` the loop sleeps that long after a round of reads, so that more sockets are ready at
the next: the kernel's stamps do not care when they are read. It delays the next request of a closed
loop by about as much (sending lag, on record), so it is at most a 100th of what an answer takes.
Answers are digested instead where any wait. An engine that sends in steps is read without a sleep,
which costs less: only where every stream had its turn so quickly that there are none is there one.
"""

from __future__ import annotations

import contextlib
import errno
import select
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from exonerate.adapters.clock import StampClock
from exonerate.adapters.load_facts import LoopFacts
from exonerate.adapters.load_flight import Flight
from exonerate.adapters.load_request import RequestMaker
from exonerate.adapters.load_slot import Ancillary, Receive, Slot, Target
from exonerate.adapters.socket_facts import ending_of
from exonerate.core.instant import NS_PER_MS, NS_PER_S
from exonerate.core.wire.end_codes import Ending
from exonerate.core.wire.kept_answer import KEPT_BYTES_MAX, RunMemory
from exonerate.core.wire.kept_reads import Wake, wake_at
from exonerate.core.wire.stream_digest import EVENT_END
from exonerate.core.workload.plan import Plan, Work
from exonerate.core.workload.result_blocks import RequestRecord

READ_BYTES = 64 * 1024
READABLE = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
MORE_TO_COME = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
ANCILLARY_BYTES = 64
CHORES_NS = 50 * NS_PER_MS
READS_BETWEEN_CHORES_MAX = 4000
BOUNDS_NS = NS_PER_S
WAIT_S_MAX = 0.02
NEVER_NS = 1 << 63
BATCHES_PER_ANSWER_MIN, BATCH_S_MIN = 100, 0.0001
PAUSE_BATCHES = 4
BEGUN_AT_ONCE_MAX = 8
DIGESTED_AT_ONCE_MAX = 8
"""About half a millisecond: as long as a sleep between two rounds of reads."""

BACKLOG_MAX = 128
"""With more ended answers than this some are digested at each turn, whatever there is to read."""

LOOSE_READS_MAX = 128
LARGE_READ_BYTES = 4096
"""An answer with more or larger reads than these is packed, and its bytes are counted."""

QuickSlot: TypeAlias = tuple[Receive, list[bytes]]
"""All that the hot path needs of a slot whose answer may be kept unseen, by its descriptor."""


class LoadLoop:
    """Plays one plan against one target."""

    def __init__(
        self,
        target: Target,
        plan: Plan,
        maker: RequestMaker,
        write: Callable[[RequestRecord], None],
        *,
        deadline_s: float,
        time_limit_s: float,
        batch_s: float = 0.0,
    ) -> None:
        self._target = target
        self._plan = plan
        self._maker = maker
        self._write = write
        self._deadline_ns = int(deadline_s * NS_PER_S)
        self._time_limit_ns = int(time_limit_s * NS_PER_S)
        self._batch_s = batch_s
        self._stamps = StampClock()
        self._memory = RunMemory()
        self._epoll = select.epoll()
        self._slots: dict[int, Slot] = {}
        self._quick: list[QuickSlot | None] = []
        self._busy: dict[Slot, int] = {}
        self._idle: list[Slot] = []
        self._begun_ns = time.monotonic_ns()
        self._answers_ns = 0
        self._ended: deque[Flight] = deque()
        self._changed = False
        self._polled_ns = time.monotonic_ns()
        self._due_ns = NEVER_NS
        self._bounds_due_ns = 0
        self._stop = False
        self._in_steps = False
        """Whether the last turn of all streams was so long that the engine pauses in between."""
        self.facts = LoopFacts()

    def stop(self) -> None:
        """End soon: give up what is in flight and write what was measured."""
        self._stop = True

    @property
    def clock_steps(self) -> int:
        """How often the wall clock jumped while the loop ran."""
        return self._stamps.steps

    def run(self, every_chore: Callable[[], None] = lambda: None) -> None:
        """Play the plan to its end; `every_chore` is called now and then."""
        begun_ns = time.monotonic_ns()
        try:
            self._send_due(begun_ns)
            self._turn(begun_ns, every_chore)
            self._finish()
        finally:
            self._close_all()

    def _turn(self, begun_ns: int, every_chore: Callable[[], None]) -> None:
        last_ns = begun_ns + self._time_limit_ns
        while (self._busy or not self._plan.over()) and not self._stop:
            chores_ns = time.monotonic_ns() + CHORES_NS
            now_ns = self._read_until(chores_ns)
            self._chores(now_ns, flooded=now_ns < chores_ns)
            every_chore()
            if now_ns > last_ns:
                self.facts.notes.append("time limit reached")
                return

    # The hot path.

    def _read_until(self, until_ns: int) -> int:
        """Read and keep until then, or until very much has come; returns the time."""
        poll, clock, sleep = self._epoll.poll, time.monotonic_ns, time.sleep
        now_ns = clock()
        batch_s = self._worthy_batch_s(now_ns)
        reads_left = READS_BETWEEN_CHORES_MAX
        patience_s = self._patience_s(now_ns)
        gathered, turn_begun_ns, pause_ns = 0, now_ns, PAUSE_BATCHES * batch_s * NS_PER_S
        while now_ns < until_ns and reads_left > 0:
            ready = poll(patience_s)
            now_ns = clock()
            self._read(ready, wake_at(self._polled_ns, now_ns))
            self._polled_ns = now_ns
            reads_left -= len(ready)
            gathered += len(ready)
            rest = self._changed or self._ended or now_ns >= self._due_ns
            if rest:
                self._do_rest(now_ns, idle=not ready or batch_s > 0)
                patience_s = self._patience_s(now_ns)
            if not self._busy:
                break
            if gathered >= len(self._busy):
                self._in_steps = now_ns - turn_begun_ns > pause_ns
                gathered, turn_begun_ns = 0, now_ns
            if batch_s and ready and not rest and not self._in_steps:
                sleep(batch_s)
        return now_ns

    def _worthy_batch_s(self, now_ns: int) -> float:
        """The time to sleep between reads; none where answers are too short to bear it."""
        ended = self.facts.ended
        mean_ns = self._answers_ns / ended if ended else now_ns - self._begun_ns
        batch_s = min(self._batch_s, mean_ns / NS_PER_S / BATCHES_PER_ANSWER_MIN)
        return batch_s if batch_s >= BATCH_S_MIN else 0.0

    def _do_rest(self, now_ns: int, *, idle: bool) -> None:
        """Send what is due; digest some answers where there is time to, or many wait."""
        if self._changed or now_ns >= self._due_ns:
            self._send_due(now_ns)
        if self._ended and ((idle and not self._changed) or len(self._ended) > BACKLOG_MAX):
            for _ in range(min(len(self._ended), DIGESTED_AT_ONCE_MAX)):
                self._make_record(self._ended.popleft())
        while len(self._ended) > 2 * BACKLOG_MAX:
            self._make_record(self._ended.popleft())

    def _read(self, ready: list[tuple[int, int]], wake: Wake) -> None:
        quick = self._quick
        for fd, mask in ready:
            found = quick[fd]
            if found is None:
                self._attend(self._slots[fd], mask, wake)
                continue
            receive, kept = found
            try:
                content, ancillary, _, _ = receive(READ_BYTES, ANCILLARY_BYTES)
            except OSError as error:
                self._lost(self._slots[fd], error)
                continue
            if content[-4:] == EVENT_END and ancillary:
                # `KeptReads.keep`, spelled out: a call would cost as much as what it does.
                kept.append(content)
                kept.append(ancillary[0][2])
                kept.append(wake)
            else:
                self._keep(self._slots[fd], content, ancillary, wake)
            if mask != select.EPOLLIN or len(content) == READ_BYTES:
                self._look_again(fd)

    def _patience_s(self, now_ns: int) -> float:
        """How long to wait for bytes: not at all with work left, else until a request is due."""
        if self._changed or self._ended:
            return 0.0
        due_ns = self._plan.next_due_ns()
        self._due_ns = NEVER_NS if due_ns is None else due_ns
        return min(WAIT_S_MAX, max(0.0, (self._due_ns - now_ns) / NS_PER_S))

    # What is rare.

    def _attend(self, slot: Slot, mask: int, wake: Wake) -> None:
        """Connecting, writing, heads, and every answer that must be read piece by piece."""
        if slot.wants_to_write() and mask & ~select.EPOLLIN:
            ending = slot.writable()
            if ending is not None:
                self._over(slot, ending)
                return
        if mask & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            try:
                content, ancillary, _, _ = slot.receive(READ_BYTES, ANCILLARY_BYTES)
            except OSError as error:
                self._lost(slot, error)
            else:
                self._keep(slot, content, ancillary, wake)
                if mask & MORE_TO_COME or len(content) == READ_BYTES:
                    self._look_again(slot.fd)
        if slot.flight is not None:
            self._renew_interest(slot)

    def _keep(self, slot: Slot, content: bytes, ancillary: Ancillary, wake: Wake) -> None:
        """Keep a read that needs a look; from then on the slot is quick, or is not."""
        ending = slot.keep(content, ancillary, wake) if content else "fin"
        if ending is not None:
            self._over(slot, ending)
        elif slot.quick:
            assert slot.flight is not None
            self._quick[slot.fd] = (slot.receive, slot.flight.reads.loose)
        else:
            self._quick[slot.fd] = None

    def _look_again(self, fd: int) -> None:
        """Have this socket reported once more, whether or not anything new comes."""
        slot = self._slots.get(fd)
        if slot is not None:
            self._epoll.modify(fd, slot.interest)

    def _lost(self, slot: Slot, error: OSError) -> None:
        if error.errno not in (errno.EAGAIN, errno.EINTR):
            self._over(slot, ending_of(error))

    def _over(self, slot: Slot, ending: Ending) -> None:
        """The request of this slot has ended, or must be sent again, or the slot was idle."""
        self._quick[slot.fd] = None
        flight = slot.flight
        if flight is None:
            self._drop(slot)
            return
        if ending in ("fin", "reset") and slot.unanswered():
            self._send_again(slot)
            return
        now_ns = time.monotonic_ns()
        offset_ns = self._stamps.offset_ns
        flight.end(ending, connected=slot.connected, at_ns=now_ns, offset_ns=offset_ns)
        keep = ending == "framed" and flight.answer.reusable and not self.facts.fresh_connections
        slot.flight = None
        del self._busy[slot]
        if keep:
            self._idle.append(slot)
        else:
            self._drop(slot)
        self._answers_ns += flight.ended_ns - flight.begun_ns
        self._plan.ended(flight.work, flight.ended_ns)
        self._ended.append(flight)
        self._changed = True
        self.facts.ended += 1

    def _send_again(self, slot: Slot) -> None:
        """A reused connection that the peer had closed: once more, on a new one, on record."""
        self.facts.resent += 1
        if not self.facts.fresh_connections:
            self.facts.fresh_connections = True
            self.facts.notes.append(
                "the peer closes connections after an answer; each request uses a new one"
            )
        self._forget(slot)
        slot.resend()
        self._register(slot)

    def _make_record(self, flight: Flight) -> None:
        record = flight.record(self._stamps.offset_ns)
        self.facts.count(flight, record)
        self._write(record)

    # Sending.

    def _send_due(self, now_ns: int) -> None:
        """Send what is due, a few at a time, so that reading never waits for long."""
        self._changed = False
        for _ in range(BEGUN_AT_ONCE_MAX):
            work = self._plan.take(now_ns)
            if work is None:
                break
            self._begin(work)
        else:
            self._changed = True
        self.facts.in_flight = len(self._busy)
        self.facts.in_flight_peak = max(self.facts.in_flight_peak, len(self._busy))

    def _begin(self, work: Work) -> None:
        slot = self._idle.pop() if self._idle else Slot(self._target, self._memory)
        request = self._maker.make(work)
        begun_ns = time.monotonic_ns()
        self.facts.sending_lag_ns += begun_ns - work.intended_ns
        self.facts.sent += 1
        deadline_ns = begun_ns + self._deadline_ns
        flight = Flight(work, request, begun_ns=begun_ns, deadline_ns=deadline_ns)
        self._busy[slot] = begun_ns
        if slot.begin(flight):
            self._register(slot)
        else:
            self._renew_interest(slot)

    def _register(self, slot: Slot) -> None:
        self.facts.connections += 1
        self._slots[slot.fd] = slot
        self._quick += [None] * (slot.fd + 1 - len(self._quick))
        slot.interest = _interest(slot)
        self._epoll.register(slot.fd, slot.interest)

    def _renew_interest(self, slot: Slot) -> None:
        interest = _interest(slot)
        if interest != slot.interest:
            slot.interest = interest
            self._epoll.modify(slot.fd, interest)

    # Chores.

    def _chores(self, now_ns: int, flooded: bool) -> None:
        """Deadlines and clocks, about every 50 ms; what is kept, every second or in a flood."""
        self._stamps.resync(now_ns)
        self._give_up_late(now_ns)
        if now_ns >= self._bounds_due_ns or flooded:
            self._bounds_due_ns = now_ns + BOUNDS_NS
            for slot in self._busy:
                if slot.flight is not None:
                    self._keep_in_bounds(slot, slot.flight)

    def _give_up_late(self, now_ns: int) -> None:
        """End what is over its deadline; all have equally long ones, so the oldest is first."""
        while self._busy:
            slot = next(iter(self._busy))
            if slot.flight is None or now_ns <= slot.flight.deadline_ns:
                return
            self._over(slot, "given-up")

    def _keep_in_bounds(self, slot: Slot, flight: Flight) -> None:
        loose = flight.reads.loose
        if len(loose) > 3 * LOOSE_READS_MAX or (loose and len(loose[-3]) > LARGE_READ_BYTES):
            flight.reads.pack()
        if slot.quick and len(flight.reads.blob) > KEPT_BYTES_MAX:
            self._quick[slot.fd] = None
            slot.quick = False
            flight.look_closer()

    def _finish(self) -> None:
        """Give up what is still in flight, and make every record that is left."""
        for slot in list(self._busy):
            self._over(slot, "given-up")
        while self._ended:
            self._make_record(self._ended.popleft())

    def _drop(self, slot: Slot) -> None:
        self._forget(slot)
        with contextlib.suppress(ValueError):
            self._idle.remove(slot)
        slot.close()

    def _forget(self, slot: Slot) -> None:
        # Closing the descriptor takes it out of the epoll set (epoll(7)).
        self._slots.pop(slot.fd, None)
        self._quick[slot.fd] = None

    def _close_all(self) -> None:
        for slot in list(self._slots.values()):
            slot.close()
        self._slots.clear()
        self._epoll.close()


def _interest(slot: Slot) -> int:
    return READABLE | (select.EPOLLOUT if slot.wants_to_write() else 0)
