"""What headers and headings say is measured."""

from __future__ import annotations

import pytest

from exonerate.core.documents.metrics import (
    column_measure,
    is_other_measure,
    resolve_metric,
    without_measure,
)


@pytest.mark.parametrize(
    ("header", "heading", "name", "unit"),
    [
        ("256", "A/B (decode, tokens/s)", "output_tokens_per_s", "tokens/s"),
        ("256 tok/s", "", "output_tokens_per_s", "tokens/s"),
        ("output_tokens_per_s", "", "output_tokens_per_s", "tokens/s"),
        ("total throughput (tok/s)", "", "total_tokens_per_s", "tokens/s"),
        ("req/s", "", "requests_per_s", "requests/s"),
        ("TTFT p99 (ms)", "", "ttft_ms_p99", "ms"),
        ("median ITL", "all in ms", "itl_ms_p50", "ms"),
        ("TTFT", "throughput in tokens/s", "ttft", None),
        ("256", "", "value", None),
        ("throughput", "", "throughput", None),
        ("E2E latency (s)", "", "e2e_latency_s", "s"),
    ],
)
def test_metrics(header: str, heading: str, name: str, unit: str | None) -> None:
    """A header decides; the texts round it fill in what it leaves open, where that fits."""
    metric = resolve_metric(header, [heading])
    assert (metric.name, metric.unit) == (name, unit)
    assert metric.lower_is_better == ("t" in name and name.startswith(("ttft", "itl", "e2e")))


def test_columns_of_different_metrics_are_told_apart() -> None:
    """Kind, unit and quantile make a measure; a bare arm has none."""
    assert column_measure("256") is None
    assert column_measure("TTFT p50") != column_measure("TTFT p99")
    assert without_measure("512 tok/s") == "512"


@pytest.mark.parametrize("header", ["Accuracy", "GPU util", "power (W) watts", "errors"])
def test_other_measures(header: str) -> None:
    """Columns of other measures are not compared."""
    assert is_other_measure(header)
