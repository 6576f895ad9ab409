"""What SGLang says of itself."""

import json
from pathlib import Path

import pytest

from exonerate.adapters.engines.names import counter_reader, engine_states

DATA = Path(__file__).parents[2] / "data" / "metrics"


def test_a_real_page_of_sglang_is_read() -> None:
    """The time that its scheduler's stages take runs on while it is idle: that is no progress."""
    page = (DATA / "sglang-0.5.23.prom").read_text()
    kind, values = counter_reader()(page)
    assert kind == "sglang"
    assert "steps" not in values
    assert values["generated_tokens"] == 692 + 759 + 216
    assert values["idle_s"] == pytest.approx(15.0, abs=0.01)
    assert values["heartbeat"] == pytest.approx(26.1, abs=0.01)
    assert values["pair_queues"] == 0


LOADS = {
    "timestamp": "2026-11-30T23:00:10.500000+00:00",
    "loads": [
        {"timestamp": 1796079608.5, "dp_rank": 0, "num_running_reqs": 2, "num_waiting_reqs": 3},
        {"timestamp": 1796079610.4, "dp_rank": 1, "num_running_reqs": 1, "num_waiting_reqs": 0},
    ],
}


def test_the_age_of_a_load_is_that_of_the_oldest_rank() -> None:
    """SGLang says when each scheduler wrote its load, by the same clock as the page's own time."""
    states = engine_states()
    said = states.read("sglang", json.dumps(LOADS))
    assert (said["running"], said["waiting"]) == (3, 3)
    assert said["state_age_s"] == pytest.approx(2.0)
    assert states.path("sglang") == "/v1/loads?include=core"
    assert states.traits("sglang")["gauge_lag_s"] > 0
