"""The binary record of a load run survives writing and reading."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.workload.result_blocks import (
    COMPLETE,
    MAGIC,
    CoalescedRead,
    RequestRecord,
    decode_blocks,
    encode_json,
    encode_request,
    whole_blocks_bytes,
)

stamps = st.integers(0, 2**62)
counts = st.integers(0, 2**31)
gaps = st.lists(st.integers(0, 2**32 - 1), max_size=20).map(lambda values: array("I", values))
wide_gaps = st.lists(st.integers(0, 2**60), min_size=1, max_size=20).map(
    lambda values: array("Q", values)
)


@st.composite
def shared_reads(draw: st.DrawFn, events: int) -> tuple[CoalescedRead, ...]:
    """Reads that brought several of so many events, in order."""
    found: list[CoalescedRead] = []
    at = 0
    while events - at >= 2 and draw(st.booleans()):
        first = draw(st.integers(at, events - 2))
        size = draw(st.integers(2, events - first))
        found.append(CoalescedRead(first, size, draw(st.integers(0, 2**32 - 1))))
        at = first + size
    return tuple(found)


@st.composite
def records(draw: st.DrawFn) -> RequestRecord:
    """Any record."""
    gap_values = draw(gaps | wide_gaps)
    coalesced = draw(shared_reads(len(gap_values)))
    for read in coalesced:
        for event in range(read.first_event + 1, read.first_event + read.events):
            gap_values[event] = 0
    return RequestRecord(
        cell=draw(st.integers(0, 99)),
        index=draw(counts),
        begun_ns=draw(stamps),
        ended_ns=draw(stamps),
        status=draw(st.integers(0, 599)),
        flags=COMPLETE if draw(st.booleans()) else 0,
        events=len(gap_values),
        usage_tokens=draw(st.integers(-1, 9999)),
        prompt_tokens=draw(st.integers(-1, 9999)),
        end=draw(st.sampled_from(["---", "hFD", "cZH"])),
        finish_reason=draw(st.sampled_from(["", "stop", "length"])),
        gaps_ns=gap_values,
        lateness_us=array("H", draw(st.lists(st.integers(0, 65535), max_size=20))),
        coalesced=coalesced,
    )


@given(st.lists(records(), max_size=4))
def test_records_come_back_equal(written: list[RequestRecord]) -> None:
    """What was written is read, in order, with JSON blocks in between."""
    content = MAGIC
    for record in written:
        content += encode_json({"type": "note"}) + encode_request(record)
    blocks = list(decode_blocks(content))
    assert [block for block in blocks if isinstance(block, RequestRecord)] == written
    assert len(blocks) == 2 * len(written)


@given(records(), st.integers(0, 200))
def test_a_file_that_was_cut_off_keeps_its_whole_blocks(record: RequestRecord, cut: int) -> None:
    """After a crash everything up to the last whole block is read."""
    first, second = encode_request(record), encode_request(record)
    content = MAGIC + first + second[: min(cut, len(second) - 1)]
    assert list(decode_blocks(content)) == [record]


def test_another_file_is_refused() -> None:
    """A file of another kind is not mistaken for a result."""
    with pytest.raises(ValueError, match="not a result"):
        list(decode_blocks(b"PK\x03\x04"))


def test_ten_bytes_hold_an_event() -> None:
    """A usual answer of 100 tokens takes less than 10 bytes an event."""
    record = RequestRecord(
        events=100,
        reads=101,
        gaps_ns=array("I", [10_000_000] * 100),
        lateness_us=array("H", [40] * 101),
    )
    assert len(encode_request(record)) / 100 < 8


def test_arrivals_are_the_summed_gaps() -> None:
    """The first gap counts from the begin of the request."""
    record = RequestRecord(
        begun_ns=1000, events=3, gaps_ns=array("I", [50, 10, 10]), lateness_us=array("H")
    )
    assert record.arrivals_ns() == [1050, 1060, 1070]


@given(st.lists(records(), max_size=4), st.data())
def test_a_spool_that_is_still_written_is_taken_in_whole_blocks(
    written: list[RequestRecord], data: st.DataObject
) -> None:
    """Wherever a growing file is cut, what is taken ends with the last whole request."""
    blocks = [encode_request(record) for record in written]
    content = b"".join(blocks)
    cut = data.draw(st.integers(0, len(content)))
    whole = whole_blocks_bytes(content[:cut])
    assert content[:whole] in [b"".join(blocks[:number]) for number in range(len(blocks) + 1)]
    assert cut - whole < max([1, *map(len, blocks)])
