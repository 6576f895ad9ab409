"""Counters of engines under their canonical names."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.adapters.engines.names import counter_reader, engine_states

DATA = Path(__file__).parents[2] / "data" / "metrics"
PAGE = """\
llamacpp:requests_processing {running}
llamacpp:requests_deferred 2
llamacpp:tokens_predicted_total 7
"""


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["loads", "timestamp", "num_running_reqs", "is_processing"]), inner
    )


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
        "started_at": 1796042619.76,
    }


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), _nested))
def test_a_page_of_another_form_says_nothing_or_finite_numbers(value: object) -> None:
    """Whatever answers at that path, no reading of it breaks."""
    for page in (json.dumps(value), json.dumps({"timestamp": value, "loads": [value]}), "<html>"):
        for kind in ("sglang", "llama.cpp", "vllm", "another"):
            said = engine_states().read(kind, page) if engine_states().path(kind) else {}
            assert all(math.isfinite(number) for number in said.values())


def test_an_engine_that_is_not_known_has_no_second_page() -> None:
    """Nothing is asked of it, and nothing is known of the age of what it says."""
    assert engine_states().path("another") is None
    assert engine_states().traits("another") == {}


def test_what_many_programs_export_does_not_make_an_engine() -> None:
    """The start of a process is on every page that a Python program exports."""
    assert counter_reader()("process_start_time_seconds 1.7e9\n") == (None, {})
