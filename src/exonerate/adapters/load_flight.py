"""One request of a load run, from the moment it is begun until its record is made.

The record is made later than the answer ends, when the loop has nothing to read: digesting an
answer takes as long as reading a dozen events.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import sub

from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.end_codes import Circumstances, Ending, end_code
from exonerate.core.wire.kept_answer import AnswerFacts, LoadAnswer, RunMemory
from exonerate.core.wire.kept_reads import KeptReads, Wake
from exonerate.core.workload.plan import Work
from exonerate.core.workload.result_blocks import (
    COMPLETE,
    KERNEL_STAMPS,
    LATENESS_US_MAX,
    RESENT,
    CoalescedRead,
    RequestRecord,
)

_U32_MAX = 0xFFFFFFFF


class Flight:
    """A request, what was kept of its answer, and how it ended."""

    __slots__ = (
        "answer",
        "answer_bytes",
        "begun_ns",
        "connected",
        "deadline_ns",
        "ended_ns",
        "ending",
        "reads",
        "request",
        "request_number",
        "resent",
        "work",
        "written_ns",
    )

    def __init__(self, work: Work, request: bytes, *, begun_ns: int, deadline_ns: int) -> None:
        self.work = work
        self.request = request
        self.begun_ns = begun_ns
        self.deadline_ns = deadline_ns
        self.written_ns = 0
        self.request_number = 0
        self.resent = False
        self.connected = False
        self.ending: Ending = "given-up"
        self.ended_ns = 0
        self.reads = KeptReads()
        self.answer_bytes = 0

    def expect(self, dialect: Dialect, memory: RunMemory) -> None:
        """An answer may come now."""
        self.answer = LoadAnswer(dialect, memory)

    def keep(self, content: bytes, stamp: bytes, wake: Wake) -> None:
        """Keep one read that is out of the ordinary, and look at it."""
        self.answer_bytes += len(content)
        if self.answer.careful:
            self.reads.note(stamp, wake)
            self.answer.feed(content)
        else:
            self.reads.keep(content, stamp, wake)
            self.answer.look(self.reads)

    def look_closer(self) -> None:
        """Read this answer piece by piece from now on."""
        if not self.answer.careful:
            self.answer_bytes = len(self.reads.blob)
            self.answer.look_closer(self.reads)

    def end(self, ending: Ending, *, connected: bool, at_ns: int, offset_ns: int) -> None:
        """The answer is over; the loop goes on and asks for the record later."""
        self.ending = ending
        self.connected = connected
        self.ended_ns = at_ns
        if ending == "framed":
            # When the last bytes came, not when we came to see them.
            self.ended_ns = self.reads.last_stamp_ns(offset_ns) or at_ns

    def record(self, offset_ns: int) -> RequestRecord:
        """What became of the request; asked once, after `end`."""
        if self.ending == "framed":
            self.answer.settle(self.reads)
        else:
            self.look_closer()
        if self.ending == "fin":
            self.answer.eof()
        facts = self.answer.facts()
        stamps, from_kernel = self.reads.stamps_ns(offset_ns)
        record = self._bare_record(facts, stamps)
        _put_arrivals(record, facts.read_of_event, stamps, self.reads.wakes)
        record.lateness_us = _lateness_us(record, stamps, self.reads.wakes)
        record.end = self._end_code(facts, record)
        record.flags |= self._flags(facts) | (KERNEL_STAMPS if from_kernel else 0)
        return record

    def _flags(self, facts: AnswerFacts) -> int:
        ok = facts.status is not None and 200 <= facts.status < 300
        over = facts.body_complete and facts.content.done_seen
        complete = ok and over and self.ending in ("framed", "fin")
        return (COMPLETE if complete else 0) | (RESENT if self.resent else 0)

    def _bare_record(self, facts: AnswerFacts, stamps: list[int]) -> RequestRecord:
        content = facts.content
        return RequestRecord(
            index=self.work.index,
            intended_ns=self.work.intended_ns,
            begun_ns=self.begun_ns,
            written_ns=self.written_ns,
            first_byte_ns=stamps[0] if stamps else 0,
            last_byte_ns=stamps[-1] if stamps else 0,
            ended_ns=self.ended_ns,
            status=facts.status or 0,
            session_round=self.work.round_number,
            request_number=self.request_number,
            usage_tokens=_or_unknown(content.completion_tokens),
            prompt_tokens=_or_unknown(content.prompt_tokens),
            answer_bytes=max(self.answer_bytes, len(self.reads.blob)),
            reads=len(stamps),
            finish_reason=content.finish_reason or "",
            gaps_ns=array("I"),
            lateness_us=array("H"),
        )

    def _end_code(self, facts: AnswerFacts, record: RequestRecord) -> str:
        # Bytes that looked like the end and were none, or a rule that was broken; it may have been
        # broken in the middle of a stream, which is looked at only when all is over.
        unsound = facts.broken or (self.ending == "framed" and not facts.body_complete)
        broken = unsound and self.ending in ("framed", "given-up")
        last_ns = record.last_byte_ns or record.begun_ns
        return end_code(
            Circumstances(
                ending="broken" if broken else self.ending,
                connected=self.connected,
                request_written=self.written_ns > 0,
                head_seen=facts.status is not None,
                done_said=facts.content.done_seen,
                body_complete=facts.body_complete,
                status=facts.status,
                silent_s=(record.ended_ns - last_ns) / NS_PER_S,
                lasted_s=(record.ended_ns - record.begun_ns) / NS_PER_S,
            )
        )


def _lateness_us(record: RequestRecord, stamps: list[int], wakes: list[Wake]) -> array[int]:
    late_us = [(read_ns - stamp) // 1000 for (_, read_ns), stamp in zip(wakes, stamps, strict=True)]
    if not late_us:
        return array("H")
    try:
        lateness = array("H", late_us)
    except OverflowError:
        # Bytes that came while the loop was already reading are not late.
        lateness = array("H", [min(max(0, late), LATENESS_US_MAX) for late in late_us])
    record.lateness_ns_max = max(0, max(late_us)) * 1000
    return lateness


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
    record.gaps_ns = _gaps_ns(record.begun_ns, arrivals)
    if not one_by_one and len(set(read_of_event)) != len(read_of_event):
        record.coalesced = _coalesced(read_of_event, stamps, wakes)
        record.censored = sum(read.events - 1 for read in record.coalesced)


def _gaps_ns(begun_ns: int, arrivals: list[int]) -> array[int]:
    try:
        return array("I", map(sub, arrivals, [begun_ns, *arrivals]))
    except OverflowError:
        # A gap of more than four seconds, or a wall clock that stepped back between two stamps.
        gaps = [max(0, gap) for gap in map(sub, arrivals, [begun_ns, *arrivals])]
        return array("Q" if max(gaps) > _U32_MAX else "I", gaps)


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
