"""Result files of load tools, as the tools wrote them."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.core.documents.formats import Options, Unreadable, read_source
from exonerate.core.documents.model import Source

DATA = Path(__file__).parents[2] / "data" / "documents"


def source_of(name: str, content: bytes | None = None) -> Source:
    """The source of a sample file, or of content with that name."""
    found = read_source(name, content or (DATA / name).read_bytes(), Options())
    assert not isinstance(found, Unreadable)
    return found


@pytest.mark.parametrize(
    ("name", "tool", "throughput"),
    [
        ("aiperf.json", "aiperf", 5569.16),
        ("guidellm.json", "guidellm", 5642.64),
        ("inference_perf.json", "inference-perf", 5841.64),
        ("sglang.jsonl", "sglang", 6091.08),
        ("vllm.json", "vllm", 6063.3),
    ],
)
def test_each_tools_file_gives_its_run(name: str, tool: str, throughput: float) -> None:
    """The file is recognised, and its concurrency and output throughput are read."""
    source = source_of(name)
    (run,) = source.runs
    assert source.format == tool
    assert run.cell == 64
    assert run.cell_kind == "concurrency"
    assert run.metrics["output_tokens_per_s"] == pytest.approx(throughput, abs=0.01)


def test_the_servers_token_count_wins() -> None:
    """Where the client's token count differs from the server's, the server's is used."""
    source = source_of("inference_perf.json")
    assert "token counts differ in 960 requests" in source.warnings[0]


def test_failed_requests_are_said() -> None:
    """A run with failed requests carries a warning."""
    assert source_of("vllm.json").warnings == ("2 requests failed",)


def test_a_cancelled_run_is_not_complete() -> None:
    """A cancelled AIPerf run is kept, marked, and warned about."""
    text = (
        (DATA / "aiperf.json")
        .read_text()
        .replace('"was_cancelled": false', '"was_cancelled": true')
    )
    source = source_of("cut.json", text.encode())
    assert not source.runs[0].complete
    assert "cancelled" in source.warnings[0]


@pytest.mark.parametrize("content", [b"{}", b'{"a": 1}', b"[]", b"[1, 2]", b'{"benchmarks": []}'])
def test_unknown_json_is_said_to_be_unknown(content: bytes) -> None:
    """JSON of no known format gives a warning that names the known ones."""
    source = source_of("x.json", content)
    assert source.comparisons == ()
    assert "no known result format" in source.warnings[0]


def test_records_beside_a_summary_are_named() -> None:
    """Per-request records are recognised, with the file to give instead."""
    source = source_of("records.jsonl", b'{"metadata": {}, "metrics": {}}\n' * 3)
    assert source.warnings == ("these are per-request records; give the tool's summary",)


def test_every_line_of_a_sglang_file_is_a_run() -> None:
    """Runs that were appended to one file keep their lines."""
    content = (DATA / "sglang.jsonl").read_bytes().rstrip(b"\n")
    other = content.replace(b'"max_concurrency":64', b'"max_concurrency":80')
    runs = source_of("two.jsonl", content + b"\n" + other + b"\n").runs
    assert [(run.line, run.cell) for run in runs] == [(1, 64), (2, 80)]
