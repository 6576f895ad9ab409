"""Counters of engines under their canonical names."""

from pathlib import Path

import pytest

from exonerate.adapters.engines.names import counter_reader

DATA = Path(__file__).parents[2] / "data" / "metrics"
PAGE = """\
llamacpp:requests_processing {running}
llamacpp:requests_deferred 2
llamacpp:tokens_predicted_total 7
"""


def test_the_counters_of_an_engine_are_found() -> None:
    """The kind is recognised by its series."""
    kind, values = counter_reader()(PAGE.format(running=1))
    assert kind == "llama.cpp"
    assert (values["running"], values["waiting"], values["generated_tokens"]) == (1, 2, 7)


@pytest.mark.parametrize("number", ["NaN", "+Inf", "-Inf", "1e999"])
def test_a_number_that_is_none_is_no_counter(number: str) -> None:
    """An engine that says "not a number" has said nothing; its other series still count."""
    kind, values = counter_reader()(PAGE.format(running=number))
    assert kind == "llama.cpp"
    assert "running" not in values
    assert values["waiting"] == 2


def test_the_fullest_of_several_caches_counts() -> None:
    """Two replicas whose caches are 60 % full are not 120 % full; their requests do add up."""
    page = "".join(
        f'vllm:kv_cache_usage_perc{{engine="{rank}"}} {usage}\n'
        f'vllm:num_requests_running{{engine="{rank}"}} 4\n'
        for rank, usage in enumerate((0.6, 0.5))
    )
    kind, values = counter_reader()(page)
    assert kind == "vllm"
    assert values == {"kv_usage": 0.6, "running": 8}


def test_a_real_page_of_vllm_is_read() -> None:
    """Times of creation, reasons of waiting and sources of prompts are no counters of their own."""
    page = (DATA / "vllm-0.32.0.prom").read_text()
    kind, values = counter_reader()(page)
    assert kind == "vllm"
    assert values == {
        "running": 0,
        "waiting": 0,
        "generated_tokens": 1989,
        "prompt_tokens": 1790,
        "steps": 586,
        "requests": 32,
        "kv_usage": 0,
    }
