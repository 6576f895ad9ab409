"""Raw records for other tools."""

from __future__ import annotations

import csv
import io
import json
from array import array

from exonerate.core.workload.result_blocks import (
    COMPLETE,
    MAGIC,
    CoalescedRead,
    RequestRecord,
    encode_json,
    encode_request,
)
from exonerate.report.bench_rows import blank_row, event_rows, raw_rows, request_row, rows_text


def record() -> RequestRecord:
    """Three events, the first two in one read."""
    return RequestRecord(
        index=7,
        begun_ns=100,
        first_token_ns=150,
        ended_ns=200,
        status=200,
        flags=COMPLETE,
        events=3,
        gaps_ns=array("I", [50, 0, 30]),
        lateness_us=array("H", [1, 1]),
        coalesced=(CoalescedRead(0, 2, 20),),
        censored=1,
    )


def test_what_nobody_said_is_null() -> None:
    """Stamps that never came and counts that nobody gave are null, not zero."""
    row = request_row(record())
    assert row["first_byte_ns"] is None
    assert row["usage_tokens"] is None
    assert row["end"] == "ok"


def test_events_carry_their_bounds() -> None:
    """An event that shared its read has the earliest time it can have come at."""
    rows = list(event_rows(record()))
    assert [row["arrival_ns"] for row in rows] == [150, 150, 180]
    assert [row["earliest_ns"] for row in rows] == [130, None, None]


def test_csv_and_json_hold_the_same() -> None:
    """Both formats have a row for each request."""
    rows = [request_row(record())] * 2
    as_json = [json.loads(line) for line in rows_text(rows, "jsonl")]
    as_csv = list(csv.DictReader(io.StringIO("\n".join(rows_text(rows, "csv")))))
    assert as_json == rows
    assert [row["index"] for row in as_csv] == ["7", "7"]


def test_a_result_gives_its_header_and_its_rows() -> None:
    """Requests or events, in the columns that an empty result has too."""
    content = MAGIC + encode_json({"type": "header", "url": "u"}) + encode_request(record())
    header, rows = raw_rows(io.BytesIO(content), events=False)
    assert header["url"] == "u"
    assert [list(row) for row in rows] == [list(blank_row(events=False))]
    _, events = raw_rows(io.BytesIO(content), events=True)
    assert [list(row) for row in events] == [list(blank_row(events=True))] * 3
    assert list(raw_rows(io.BytesIO(MAGIC), events=False)[1]) == []
