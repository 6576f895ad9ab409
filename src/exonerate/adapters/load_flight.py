"""One request of a load run, from the moment it is begun until its record is made.

The record is made later than the answer ends, when the loop has nothing to read: digesting an
answer takes as long as reading a dozen events.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, repeat

from exonerate.core.instant import NS_PER_S
from exonerate.core.wire.dialects import Dialect
from exonerate.core.wire.end_codes import REGULAR, Circumstances, Ending, end_code
from exonerate.core.wire.kept_answer import AnswerFacts, LoadAnswer, RunMemory
from exonerate.core.wire.kept_reads import KeptReads, Wake
from exonerate.core.wire.read_times import ReadTimes, in_a_row
from exonerate.core.workload.plan import Work
from exonerate.core.workload.result_blocks import (
    COMPLETE,
    KERNEL_STAMPS,
    RESENT,
    CoalescedRead,
    RequestRecord,
)


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
            self.answer_bytes = self.reads.byte_count()
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
        self.answer_bytes = max(self.answer_bytes, self.reads.byte_count())
        if self.ending == "framed":
            self.answer.settle(self.reads)
        else:
            self.look_closer()
        if self.ending == "fin":
            self.answer.eof()
        facts = self.answer.facts()
        times = self.reads.times(offset_ns)
        record = self._bare_record(facts, times)
        _put_arrivals(record, facts.read_of_event, times)
        record.end = self._end_code(facts, record)
        stamped = times.number > 0 and self.reads.stamped
        record.flags |= self._flags(facts) | (KERNEL_STAMPS if stamped else 0)
        return record

    def _flags(self, facts: AnswerFacts) -> int:
        ok = facts.status is not None and 200 <= facts.status < 300
        over = facts.body_complete and facts.content.done_seen
        complete = ok and over and self.ending in ("framed", "fin")
        return (COMPLETE if complete else 0) | (RESENT if self.resent else 0)

    def _bare_record(self, facts: AnswerFacts, times: ReadTimes) -> RequestRecord:
        content = facts.content
        lateness_us, late_us_max = times.lateness_us()
        return RequestRecord(
            index=self.work.index,
            intended_ns=self.work.intended_ns,
            begun_ns=self.begun_ns,
            written_ns=self.written_ns,
            first_byte_ns=times.at(0) if times.number else 0,
            last_byte_ns=times.at(times.number - 1) if times.number else 0,
            ended_ns=self.ended_ns,
            status=facts.status or 0,
            session_round=self.work.round_number,
            request_number=self.request_number,
            usage_tokens=_or_unknown(content.completion_tokens),
            prompt_tokens=_or_unknown(content.prompt_tokens),
            answer_bytes=self.answer_bytes,
            reads=times.number,
            lateness_ns_max=late_us_max * 1000,
            finish_reason=content.finish_reason or "",
            gaps_ns=array("I"),
            lateness_us=lateness_us,
        )

    def _end_code(self, facts: AnswerFacts, record: RequestRecord) -> str:
        framed = self.ending == "framed" and facts.body_complete and not facts.broken
        if framed and facts.status is not None and facts.status < 400:
            # As `end_code` would say; nearly all answers are so.
            return REGULAR
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


def _put_arrivals(record: RequestRecord, read_of_event: Sequence[int], times: ReadTimes) -> None:
    """Put the stamp of each event into the record, and name the reads that brought several."""
    if not read_of_event:
        return
    row = in_a_row(read_of_event)
    events = read_of_event if row is None else row
    record.events = len(events)
    record.first_token_ns = times.at(events[0])
    record.gaps_ns = times.gaps_ns(events, record.begun_ns)
    if isinstance(row, range):
        return
    if row is not None:
        spans = times.spans_of_neighbours_ns(row.reads)
        record.coalesced = _coalesced(row.counts, spans)
        record.censored = row.events - len(row.reads)
        return
    shares = Counter(read_of_event)
    record.coalesced = _coalesced([*shares.values()], times.spans_ns([*shares]))
    record.censored = len(events) - len(shares)


def _coalesced(counts: Sequence[int], spans_ns: Sequence[int]) -> tuple[CoalescedRead, ...]:
    firsts = accumulate(counts, initial=0)
    shared = [read for read in zip(firsts, counts, spans_ns, strict=False) if read[1] > 1]
    return tuple(map(tuple.__new__, repeat(CoalescedRead), shared))


def _or_unknown(count: int | None) -> int:
    return -1 if count is None else count
