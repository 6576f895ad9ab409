"""The metrics page of the scripted engine reads like the real ones."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exonerate.lab.scripted_engine.metrics_page import Counters, metrics_page

EXPECTED = {
    "sglang": {
        "sglang:num_running_reqs": 2.0,
        "sglang:num_queue_reqs": 3.0,
        "sglang:token_usage": 0.5,
        "sglang:generation_tokens_total": 40.0,
        "sglang:num_aborted_requests_total": 1.0,
    },
    "vllm": {
        "vllm:num_requests_running": 2.0,
        "vllm:num_requests_waiting": 3.0,
        "vllm:kv_cache_usage_perc": 0.5,
        "vllm:generation_tokens_total": 40.0,
    },
}


@pytest.mark.parametrize("names", ["sglang", "vllm"])
def test_an_independent_parser_reads_it(names: str) -> None:
    """Prometheus's own parser finds the counters under the engine's names."""
    counters = Counters(
        running=2, waiting=3, held_slots=2, prompt_tokens=10, generated_tokens=40, aborted=1
    )
    page = metrics_page(names, "m", counters, 8)
    families = text_string_to_metric_families(page)
    samples = {sample.name: sample.value for family in families for sample in family.samples}
    assert {name: samples[name] for name in EXPECTED[names]} == EXPECTED[names]


def test_aborts_of_sglang_appear_with_the_first() -> None:
    """As in SGLang, the series of aborts does not exist before there was one."""
    assert "aborted" not in metrics_page("sglang", "m", Counters(), 8)
