"""One connection of the load loop and the request that is on it.

The hot path is in `load_loop`: it reads, keeps and goes on. A slot is asked only when something
else happens: connect, TLS, writing, the head, the end, an error.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import sub
from typing import NoReturn, TypeAlias

from exonerate.adapters.clock import StampClock
from exonerate.adapters.socket_facts import SO_TIMESTAMPNS, ending_of
from exonerate.adapters.tls import TlsBox
from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.end_codes import Circumstances, Ending, end_code
from exonerate.core.wire.kept_answer import AnswerFacts, LoadAnswer, RunMemory
from exonerate.core.wire.kept_reads import NO_STAMP, KeptReads, Wake
from exonerate.core.workload.plan import Work
from exonerate.core.workload.result_blocks import (
    COMPLETE,
    KERNEL_STAMPS,
    LATENESS_US_MAX,
    RESENT,
    CoalescedRead,
    RequestRecord,
)

Ancillary: TypeAlias = "list[tuple[int, int, bytes]]"
Receive: TypeAlias = Callable[[int, int], tuple[bytes, Ancillary, int, object]]

_U32_MAX = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Target:
    """Where every slot connects to; resolved once."""

    family: int
    place: tuple[object, ...]
    host: str
    context: ssl.SSLContext | None
    dialect: Dialect


class Slot:
    """A connection, kept from one request to the next where the peer allows it."""

    def __init__(self, target: Target, stamps: StampClock, memory: RunMemory) -> None:
        self._target = target
        self._stamps = stamps
        self._memory = memory
        self._tls: TlsBox | None = None
        self._unsent = memoryview(b"")
        self._request = b""
        self._flags = 0
        self._connect_error = 0
        self.interest = 0
        self.sock: socket.socket | None = None
        self.fd = -1
        self.receive: Receive = _not_open
        self.connected = False
        self.requests = 0
        self.work: Work | None = None
        self.answer = LoadAnswer(target.dialect, memory)
        self.reads = KeptReads()
        self.sink = self.reads.sink()
        self.answer_bytes = 0
        self.begun_ns = self.written_ns = self.deadline_ns = 0
        self.quick = False
        """The loop may keep what it reads without asking."""

    # Sending.

    def begin(self, work: Work, request: bytes, *, now_ns: int, deadline_ns: int) -> bool:
        """Begin a request; returns whether a new connection was opened for it."""
        self.work = work
        self.begun_ns = now_ns
        self.deadline_ns = now_ns + deadline_ns
        self._flags = 0
        return self._start(request)

    def resend(self) -> None:
        """Send the same request again on a new connection; the record says so."""
        self.close()
        self._flags |= RESENT
        self._start(self._request)

    def wants_to_write(self) -> bool:
        """The loop must wait until the socket takes more."""
        return not self.connected or bool(self._unsent)

    def writable(self) -> Ending | None:
        """The socket connected or takes more bytes; returns how the exchange ended, if it did."""
        assert self.sock is not None
        if not self.connected:
            error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            error = error or self._connect_error
            if error not in (0, errno.EINPROGRESS):
                return ending_of(OSError(error, ""))
            self.connected = True
            return self._after_connect()
        return self._flush()

    def close(self) -> None:
        """Close whole and at once."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None
        self.connected = False
        self._tls = None
        self._unsent = memoryview(b"")

    # Receiving.

    def keep(self, content: bytes, ancillary: Ancillary, wake: Wake) -> Ending | None:
        """Bytes came and need a look; returns how the exchange ended, if it did."""
        if self._tls is not None:
            try:
                content, answer = self._tls.take(content)
            except ssl.SSLError:
                return "refused"
            self._unsent = memoryview(bytes(self._unsent) + answer)
            ending = self._after_handshake() if self._request else self._flush()
            if ending is not None or not content:
                return ending
        stamp = ancillary[0][2] if ancillary else NO_STAMP
        if self.answer.careful:
            self.answer_bytes += len(content)
            self.reads.note(stamp, wake)
            self.answer.feed(content)
        else:
            self.reads.keep(content, stamp, wake)
            kept = len(self.reads.blob)
            self.answer.look(self.reads)
            self.answer_bytes = kept - len(self.reads.blob)
        # A request that still goes out, or TLS, needs the careful way for every read.
        self.quick = self.answer.quick and self._tls is None and not self._unsent
        return "framed" if self.answer.finished else None

    def look_closer(self) -> None:
        """Read this answer piece by piece from now on."""
        self.quick = False
        if not self.answer.careful:
            self.answer_bytes = len(self.reads.blob)
            self.answer.look_closer(self.reads)

    def unanswered(self) -> bool:
        """A reused connection on which not one byte of this answer has come."""
        return self.requests > 1 and not self.reads.wakes and not self._flags & RESENT

    def record(self, ending: Ending, ended_ns: int) -> tuple[RequestRecord, AnswerFacts]:
        """What became of the request."""
        if not self.answer.finished:
            self.look_closer()
        if ending == "fin":
            self.answer.eof()
        facts = self.answer.facts()
        if facts.broken and ending == "framed":
            ending = "broken"
        stamps, from_kernel = self.reads.stamps_ns(self._stamps.offset_ns)
        record = self._bare_record(facts, stamps, ended_ns)
        _put_arrivals(record, facts.read_of_event, stamps, self.reads.wakes)
        record.lateness_us = self._lateness_us(record, stamps)
        record.end = self._end_code(facts, ending, record)
        complete = facts.body_complete and facts.content.done_seen and ending in ("framed", "fin")
        ok = facts.status is not None and 200 <= facts.status < 300
        record.flags |= (COMPLETE if complete and ok else 0) | (KERNEL_STAMPS if from_kernel else 0)
        return record, facts

    def _start(self, request: bytes) -> bool:
        self._request = request
        self.written_ns = 0
        self.reads = KeptReads()
        self.sink = self.reads.sink()
        self.answer_bytes = 0
        self.answer = LoadAnswer(self._target.dialect, self._memory)
        self.quick = False
        if self.sock is not None:
            self._send_request()
            return False
        self._open()
        return True

    def _open(self) -> None:
        sock = socket.socket(self._target.family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            # Reads carry the time of the read where the kernel gives no stamps.
            self.connected = False
        self.sock = sock
        self.fd = sock.fileno()
        self.receive = sock.recvmsg
        self.requests = 0
        self._connect_error = sock.connect_ex(self._target.place)

    def _after_connect(self) -> Ending | None:
        if self._target.context is None:
            return self._send_request()
        self._tls = TlsBox(self._target.context, self._target.host)
        self._unsent = memoryview(self._tls.begin())
        return self._flush()

    def _after_handshake(self) -> Ending | None:
        assert self._tls is not None
        if self._tls.secured and not self.written_ns and not self.requests:
            return self._send_request()
        return self._flush()

    def _send_request(self) -> Ending | None:
        self.requests += 1
        raw = self._tls.encrypt(self._request) if self._tls else self._request
        self._unsent = memoryview(bytes(self._unsent) + raw) if self._unsent else memoryview(raw)
        return self._flush()

    def _flush(self) -> Ending | None:
        assert self.sock is not None
        try:
            while self._unsent:
                self._unsent = self._unsent[self.sock.send(self._unsent) :]
        except BlockingIOError:
            return None
        except OSError as error:
            # An early answer may stand on the reading side; the loop reads before it believes.
            self._unsent = memoryview(b"")
            return ending_of(error)
        if self.requests and not self.written_ns:
            self.written_ns = time.monotonic_ns()
        return None

    # The record.

    def _bare_record(self, facts: AnswerFacts, stamps: list[int], ended_ns: int) -> RequestRecord:
        assert self.work is not None
        content = facts.content
        return RequestRecord(
            index=self.work.index,
            intended_ns=self.work.intended_ns,
            begun_ns=self.begun_ns,
            written_ns=self.written_ns,
            first_byte_ns=stamps[0] if stamps else 0,
            last_byte_ns=stamps[-1] if stamps else 0,
            ended_ns=stamps[-1] if stamps and facts.body_complete else ended_ns,
            status=facts.status or 0,
            flags=self._flags,
            session_round=self.work.round_number,
            request_number=self.requests,
            usage_tokens=_or_unknown(content.completion_tokens),
            prompt_tokens=_or_unknown(content.prompt_tokens),
            answer_bytes=self.answer_bytes + len(self.reads.blob),
            reads=len(stamps),
            finish_reason=content.finish_reason or "",
            gaps_ns=array("I"),
            lateness_us=array("H"),
        )

    def _lateness_us(self, record: RequestRecord, stamps: list[int]) -> array[int]:
        lateness = [
            read_ns - stamp for (_, read_ns), stamp in zip(self.reads.wakes, stamps, strict=True)
        ]
        if not lateness:
            return array("H")
        record.lateness_ns_max = max(0, max(lateness))
        if min(lateness) >= 0 and record.lateness_ns_max < LATENESS_US_MAX * 1000:
            return array("H", [late // 1000 for late in lateness])
        return array("H", [min(max(0, late // 1000), LATENESS_US_MAX) for late in lateness])

    def _end_code(self, facts: AnswerFacts, ending: Ending, record: RequestRecord) -> str:
        last_ns = record.last_byte_ns or record.begun_ns
        return end_code(
            Circumstances(
                ending=ending,
                connected=self.connected and (self._tls is None or self._tls.secured),
                request_written=self.written_ns > 0,
                head_seen=facts.status is not None,
                done_said=facts.content.done_seen,
                body_complete=facts.body_complete,
                status=facts.status,
                silent_s=(record.ended_ns - last_ns) / NS_PER_S,
                lasted_s=(record.ended_ns - record.begun_ns) / NS_PER_S,
            )
        )


def _not_open(bytes_max: int, ancillary_bytes_max: int) -> NoReturn:
    raise OSError(errno.ENOTCONN, "not open")


def _put_arrivals(
    record: RequestRecord, read_of_event: Sequence[int], stamps: list[int], wakes: list[Wake]
) -> None:
    """Put the stamp of each event into the record, and name the reads that brought several."""
    if not read_of_event:
        return
    record.events = len(read_of_event)
    one_by_one = isinstance(read_of_event, range)
    if isinstance(read_of_event, range):
        arrivals = stamps[read_of_event.start : read_of_event.stop]
    else:
        arrivals = [stamps[read] for read in read_of_event]
    record.first_token_ns = arrivals[0]
    # The wall clock may have stepped between two stamps; time does not run backwards here.
    gaps = list(map(sub, arrivals, [record.begun_ns, *arrivals]))
    if min(gaps) < 0:
        gaps = [max(0, gap) for gap in gaps]
    wide = max(gaps) > _U32_MAX
    record.gaps_ns = array("Q" if wide else "I", gaps)
    if not one_by_one and len(set(read_of_event)) != len(read_of_event):
        record.coalesced = _coalesced(read_of_event, stamps, wakes)
        record.censored = sum(read.events - 1 for read in record.coalesced)


def _coalesced(
    read_of_event: Sequence[int], stamps: list[int], wakes: list[Wake]
) -> tuple[CoalescedRead, ...]:
    found: list[CoalescedRead] = []
    first = 0
    for event in range(1, len(read_of_event) + 1):
        if event < len(read_of_event) and read_of_event[event] == read_of_event[first]:
            continue
        if event - first > 1:
            read = read_of_event[first]
            earliest = max(wakes[read][0], stamps[read - 1] if read else 0)
            span = max(0, stamps[read] - earliest)
            found.append(CoalescedRead(first, event - first, span))
        first = event
    return tuple(found)


def _or_unknown(count: int | None) -> int:
    return -1 if count is None else count
