"""The metrics reader against prometheus-client's."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from exonerate.core.wire.exposition import Sample, parse_exposition

PAGES = Path(__file__).parents[2] / "data" / "metrics"


def oracle(text: str) -> list[Sample]:
    """The samples as prometheus-client reads them."""
    return [
        Sample(sample.name, dict(sample.labels), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def by_content(samples: list[Sample]) -> list[tuple[str, list[tuple[str, str]], str]]:
    """Comparable, order aside, with NaN equal to itself."""
    return sorted(
        (sample.name, sorted(sample.labels.items()), repr(float(sample.value)))
        for sample in samples
    )


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.prom")), ids=lambda page: page.stem)
def test_real_pages_read_as_the_oracle_reads_them(page: Path) -> None:
    """Pages of real engines and a real router give the same samples."""
    text = page.read_text()
    samples = parse_exposition(text)
    assert len(samples) > 10
    assert by_content(samples) == by_content(oracle(text))


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=12), max_size=4),
    st.floats(),
)
def test_any_label_value_survives(label_values: list[str], value: float) -> None:
    """Quotes, backslashes, braces, line feeds and commas in labels come through."""
    registry = CollectorRegistry()
    names = [f"label{index}" for index in range(len(label_values))]
    gauge = Gauge("g", "help", names, registry=registry)
    (gauge.labels(*label_values) if names else gauge).set(value)
    text = generate_latest(registry).decode()
    (sample,) = parse_exposition(text)
    assert sample.labels == dict(zip(names, label_values, strict=True))
    assert sample.value == value or (math.isnan(sample.value) and math.isnan(value))


@given(st.text(max_size=200))
def test_garbage_lines_are_skipped(garbage: str) -> None:
    """A broken line costs itself, not the page."""
    cleaned = garbage.replace("\n", " ").replace("\r", " ")
    text = f"a 1\n{cleaned}\nb 2\n"
    names = [sample.name for sample in parse_exposition(text)]
    assert names[0] == "a"
    assert names[-1] == "b"


@pytest.mark.parametrize(
    "line",
    ["<html>", "a{b=}", 'a{b="c} 1', "a", "a one", "1a 1", 'a{b="c"d="e"} x', "a 1_000"],
)
def test_a_line_that_is_no_sample_is_skipped(line: str) -> None:
    """Nothing is made up from a line that is not understood."""
    assert parse_exposition(line) == []


def test_timestamps_and_exemplars_are_tolerated() -> None:
    """A timestamp or an OpenMetrics exemplar does not hide the value."""
    text = 'a{b="c"} 1.5 1700000000\nd_total 3 # {trace="x"} 1 1700000000\n'
    assert parse_exposition(text) == [Sample("a", {"b": "c"}, 1.5), Sample("d_total", {}, 3.0)]
