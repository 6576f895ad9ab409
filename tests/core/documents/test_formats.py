"""Which reader a file goes to; and that no file crashes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exonerate.core.documents.answer import reading_json
from exonerate.core.documents.formats import (
    BYTES_MAX,
    COMPARISONS_MAX,
    TEXT_BYTES_MAX,
    Options,
    Unreadable,
    read_source,
)
from exonerate.core.documents.groups import grouped
from exonerate.core.documents.model import Reading, Source

DATA = Path(__file__).parents[2] / "data" / "documents"
FOUNDING = (DATA / "DSV4_DECODE_PERF_PLAN.md").read_text()
NAMES = st.sampled_from(["a.md", "a.csv", "a.json", "a"])


def source_of(name: str, content: bytes) -> Source:
    """The source of content with that name."""
    found = read_source(name, content, Options())
    assert not isinstance(found, Unreadable)
    return found


def survives(name: str, content: bytes) -> None:
    """Reading, grouping and printing give an answer or a reason, never an exception."""
    found = read_source(name, content, Options())
    if not isinstance(found, Unreadable):
        answer = reading_json(Reading(grouped([found])))
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    "content",
    [b"\x7fELF\x02\x01\x01\x00\xff\xfe", b"a\x00b", b"\xff\xfe\x00", "ä".encode("latin-1")],
)
def test_binary_is_refused_with_a_reason(content: bytes) -> None:
    """Binary content is not read, and the reason says what it is."""
    assert isinstance(read_source("x.md", content, Options()), Unreadable)


def test_too_large_a_file_is_refused() -> None:
    """A file over the limit is refused with the limit."""
    found = read_source("x.md", b"a" * (BYTES_MAX + 1), Options())
    assert isinstance(found, Unreadable)
    assert f"{BYTES_MAX:,}" in found.reason
    assert isinstance(read_source("x.md", b"a" * (TEXT_BYTES_MAX + 1), Options()), Unreadable)


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    """Windows line ends, a byte order mark and UTF-16 give the same comparisons."""
    plain = source_of("a.md", FOUNDING.encode()).comparisons
    for content in (
        FOUNDING.replace("\n", "\r\n").encode(),
        FOUNDING.encode("utf-8-sig"),
        FOUNDING.encode("utf-16"),
    ):
        assert source_of("a.md", content).comparisons == plain


def test_a_csv_in_long_form_names_its_arms_by_the_knob() -> None:
    """A column named like a knob with repeated values gives the arms."""
    text = "concurrency,TARGET_CTAS,tok/s\n48,256,10.5\n64,256,11.5\n48,512,12.5\n64,512,13.5\n"
    (comparison,) = source_of("a.csv", text.encode()).comparisons
    assert comparison.arms == ("256", "512")
    assert comparison.knob == "TARGET_CTAS"


def test_json_lines_with_arms_are_a_table() -> None:
    """JSON Lines with concurrency, arm and value become a comparison."""
    text = "".join(
        json.dumps({"concurrency": 48, "arm": arm, "output_tokens_per_s": value}) + "\n"
        for arm, value in (("a", 10.5), ("b", 12.5))
    )
    (comparison,) = source_of("a.jsonl", text.encode()).comparisons
    assert comparison.metric == "output_tokens_per_s"


def test_a_csv_with_too_many_rows_is_said_to_have_them() -> None:
    """A CSV over the limit of rows gives a warning that names the limits, at once."""
    source = source_of("a.csv", b"C,256\n" + b"1,2\n" * 200_000)
    assert source.format == "csv"
    assert "5000 rows" in source.warnings[0]


def test_too_many_tables_are_cut_with_a_warning() -> None:
    """A document with thousands of tables is read up to a limit, and the reader says so."""
    table = "| C | a | b |\n|--|--|--|\n| 8 | 1.5 | 2.5 |\n\n"
    source = source_of("a.md", table.encode() * (COMPARISONS_MAX + 5))
    assert len(source.comparisons) == COMPARISONS_MAX
    assert "too many" in source.warnings[0]


def test_metrics_pages_are_not_tables() -> None:
    """A Prometheus page with commas in its labels is not taken for a CSV."""
    text = '# HELP a b\n# TYPE a counter\na{x="1",y="2"} 3\na{x="2",y="2"} 4\n'
    assert source_of("m.prom", text.encode()).comparisons == ()


@settings(max_examples=200, deadline=None)
@given(NAMES, st.binary(max_size=300))
def test_random_bytes_never_crash(name: str, content: bytes) -> None:
    """Any bytes give an answer or a reason."""
    survives(name, content)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow],
)
@given(NAMES, st.data())
def test_mutated_documents_never_crash(name: str, data: st.DataObject) -> None:
    """The founding document with pieces cut, doubled or replaced gives an answer."""
    text = FOUNDING
    for _ in range(data.draw(st.integers(1, 6))):
        begin = data.draw(st.integers(0, len(text)))
        end = min(len(text), begin + data.draw(st.integers(0, 40)))
        piece = data.draw(st.text(alphabet="|-: \n0123456789.,%±x~=()`>#\\C", max_size=12))
        text = text[:begin] + piece + text[end:]
    survives(name, text.encode())


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        ["aiperf.json", "guidellm.json", "inference_perf.json", "sglang.jsonl", "vllm.json"]
    ),
    st.data(),
)
def test_mutated_result_files_never_crash(name: str, data: st.DataObject) -> None:
    """A result file with any value in place of some keys gives an answer."""
    document = json.loads((DATA / name).read_text())
    for _ in range(data.draw(st.integers(1, 4))):
        target = document
        for _ in range(data.draw(st.integers(0, 4))):
            inside = [value for value in target.values() if isinstance(value, dict) and value]
            if not inside:
                break
            target = data.draw(st.sampled_from(inside))
        target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON_VALUES)
    survives(name, json.dumps(document).encode())


def test_deep_nesting_is_an_answer() -> None:
    """JSON and quotes nested thousands deep do not crash the reader."""
    survives("a.json", b"[" * 20_000)
    survives("a.md", b">" * 300 + b" a\n")
    survives("a.md", b"| " * 500 + b"\n" + b"|-" * 500)
