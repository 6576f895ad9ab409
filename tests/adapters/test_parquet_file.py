"""Raw records as a Parquet file, and back."""

from __future__ import annotations

import json
import sys
from array import array
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exonerate.adapters.parquet_file import HEADER_KEY, write_parquet
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.workload.result_blocks import COMPLETE, CoalescedRead, RequestRecord
from exonerate.errors import ExonerateError
from exonerate.report.bench_rows import blank_row, event_rows, request_row

HEADER: JsonObject = {"type": "header", "url": "http://127.0.0.1:8000", "seed": 1}
NOW_NS = 1 << 62

records = st.builds(
    RequestRecord,
    index=st.integers(0, 1 << 31),
    begun_ns=st.integers(1, NOW_NS),
    first_token_ns=st.integers(0, NOW_NS),
    status=st.sampled_from([0, 200, 503]),
    flags=st.sampled_from([0, COMPLETE, 63]),
    events=st.just(3),
    usage_tokens=st.integers(-1, 1 << 20),
    end=st.sampled_from(["---", "cZH", "hRD"]),
    finish_reason=st.sampled_from(["", "stop", "l\u00e4nge"]),
    gaps_ns=st.lists(st.integers(0, 1 << 31), min_size=3, max_size=3).map(lambda g: array("I", g)),
    lateness_us=st.just(array("H", [1])),
    coalesced=st.sampled_from([(), (CoalescedRead(0, 2, 20),)]),
)


def back_and_forth(rows: list[dict[str, Json]], path: Path, *, events: bool) -> list[object]:
    """The rows after they were a file."""
    write_parquet(rows, path, header=HEADER, like=blank_row(events=events))
    return list(pyarrow.parquet.read_table(path).to_pylist())


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=40,
)
@given(st.lists(records, max_size=5))
def test_every_value_comes_back(tmp_path: Path, given_records: list[RequestRecord]) -> None:
    """Stamps to the nanosecond, what nobody said as null, events with their bounds."""
    requests = [request_row(record) for record in given_records]
    events = [row for record in given_records for row in event_rows(record)]
    assert back_and_forth(requests, tmp_path / "r.parquet", events=False) == requests
    assert back_and_forth(events, tmp_path / "e.parquet", events=True) == events


def test_the_columns_have_types_and_the_file_its_header(tmp_path: Path) -> None:
    """A reader needs no guess, and knows which run it was, also where nothing was measured."""
    path = tmp_path / "run.parquet"
    write_parquet([], path, header=HEADER, like=blank_row(events=False))
    schema = pyarrow.parquet.read_schema(path)
    assert schema.names == list(blank_row(events=False))
    assert str(schema.field("begun_ns").type) == "int64"
    assert str(schema.field("end").type) == "string"
    assert str(schema.field("warm_up").type) == "bool"
    assert json.loads(schema.metadata[HEADER_KEY.encode()]) == HEADER


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """And nothing unfinished is left behind."""
    with pytest.raises(ExonerateError, match="cannot be written"):
        write_parquet([], tmp_path / "no" / "run", header={}, like=blank_row(events=True))

    def breaks_off() -> list[dict[str, Json]]:
        raise ValueError("cut")

    rows = (row for _ in (1,) for row in breaks_off())
    with pytest.raises(ValueError, match="cut"):
        write_parquet(rows, tmp_path / "run", header={}, like=blank_row(events=True))
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What to install, or which format does without."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExonerateError, match="pyarrow") as caught:
        write_parquet([], tmp_path / "run", header={}, like=blank_row(events=True))
    assert "exonerate[parquet]" in caught.value.hint
    assert "--format csv" in caught.value.hint
