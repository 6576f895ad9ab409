"""The second page of SGLang's state: the loads of its ranks, with the time they were written."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from exonerate.adapters.engines.names import counter_reader, engine_states
from exonerate.adapters.engines.sglang import read_loads

DATA = Path(__file__).parents[2] / "data" / "metrics"
NOW = datetime.fromisoformat("2026-01-02T03:04:05+00:00")


def page(*rows: dict[str, Any]) -> str:
    """The answer of `/v1/loads`, asked at `NOW`."""
    return json.dumps({"timestamp": NOW.isoformat(), "loads": rows})


def rank(age_s: float, **counts: int) -> dict[str, Any]:
    """What one rank wrote so long ago."""
    written = NOW.timestamp() - age_s
    return {"timestamp": written, "num_running_reqs": 1, "num_waiting_reqs": 0, **counts}


def test_ranks_add_up_and_the_oldest_tells_the_age() -> None:
    """A rank that has not written for long may hold what it does not show."""
    found = read_loads(page(rank(0.5), rank(12.0, num_waiting_reqs=3)))
    assert (found["running"], found["waiting"]) == (2, 3)
    assert found["state_age_s"] == pytest.approx(12.0, abs=0.01)


@pytest.mark.parametrize(
    "text", ["<html>", "{}", page(), page({"timestamp": 0.0}), page({"num_running_reqs": 1})]
)
def test_a_page_without_numbers_or_times_says_nothing(text: str) -> None:
    """What nobody dated is not known to be true now."""
    assert read_loads(text) == {}


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


def test_its_gauges_lag_and_it_has_a_page_that_does_not() -> None:
    """What it says of itself beside its metrics page."""
    states = engine_states()
    assert states.path("sglang") == "/v1/loads?include=core"
    assert states.traits("sglang")["gauge_lag_s"] > 0
