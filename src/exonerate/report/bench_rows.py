"""The raw records of a benchmark as CSV or JSON lines, for other tools."""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Literal, TypeAlias

from exonerate.core.json_types import Json, JsonObject
from exonerate.core.workload.result_blocks import (
    KERNEL_STAMPS,
    RESENT,
    WARM_UP,
    RequestRecord,
    read_blocks,
)

Format: TypeAlias = Literal["csv", "jsonl"]

FLAGS = {"warm_up": WARM_UP, "resent": RESENT, "kernel_stamps": KERNEL_STAMPS}
STAMPS = ("intended", "begun", "written", "first_byte", "first_token", "last_byte", "ended")


def raw_rows(result: BinaryIO, *, events: bool) -> tuple[JsonObject, Iterator[dict[str, Json]]]:
    """The header of a result, and a row for each request or event; ValueError for no result."""
    blocks = read_blocks(result)
    first = next(blocks, {})
    header = {} if isinstance(first, RequestRecord) else first
    records = (block for block in chain([first], blocks) if isinstance(block, RequestRecord))
    if events:
        return header, (row for record in records for row in event_rows(record))
    return header, (request_row(record) for record in records)


def request_row(record: RequestRecord) -> dict[str, Json]:
    """One request; a stamp that never came and a count that nobody gave are null."""
    row: dict[str, Json] = {
        "cell": record.cell,
        "worker": record.worker,
        "index": record.index,
        "round": record.session_round,
    }
    row.update({f"{name}_ns": getattr(record, f"{name}_ns") or None for name in STAMPS})
    row.update(
        {
            "status": record.status or None,
            "end": "ok" if record.complete else record.end,
            "finish_reason": record.finish_reason or None,
            "events": record.events,
            "usage_tokens": None if record.usage_tokens < 0 else record.usage_tokens,
            "prompt_tokens": None if record.prompt_tokens < 0 else record.prompt_tokens,
            "answer_bytes": record.answer_bytes,
            "reads": record.reads,
            "censored": record.censored,
            "request_number": record.request_number,
            "lateness_ns_max": record.latest_read_ns,
        }
    )
    row.update({name: bool(record.flags & flag) for name, flag in FLAGS.items()})
    return row


def event_rows(record: RequestRecord) -> Iterator[dict[str, Json]]:
    """One row for each meaningful event; `earliest_ns` where only bounds are known."""
    spans: dict[int, int] = {}
    for read in record.coalesced:
        for event in range(read.first_event, read.first_event + read.events - 1):
            spans[event] = read.span_ns
    for event, arrival_ns in enumerate(record.arrivals_ns()):
        span_ns = spans.get(event)
        yield {
            "cell": record.cell,
            "index": record.index,
            "event": event,
            "arrival_ns": arrival_ns,
            "earliest_ns": None if span_ns is None else arrival_ns - span_ns,
        }


def blank_row(*, events: bool) -> dict[str, Json]:
    """A row of no request: which columns there are, also in a result that has none."""
    record = RequestRecord(gaps_ns=array("I", [0]), lateness_us=array("H"))
    return next(event_rows(record)) if events else request_row(record)


def rows_text(rows: Iterable[dict[str, Json]], kind: Format) -> Iterator[str]:
    """The rows as lines of CSV (with a header) or JSON."""
    buffer = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if kind == "jsonl":
            yield json.dumps(row)
            continue
        if writer is None:
            writer = csv.DictWriter(buffer, list(row), lineterminator="")
            writer.writeheader()
            yield _taken(buffer)
        writer.writerow(row)
        yield _taken(buffer)


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text
