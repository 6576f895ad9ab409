"""The second page of llama.cpp's state: its slots."""

import json

import pytest

from exonerate.adapters.engines.llamacpp import read_slots
from exonerate.adapters.engines.names import engine_states


def test_slots_at_work_are_counted() -> None:
    """Each says of itself whether it works."""
    page = json.dumps([{"id": n, "is_processing": n < 2} for n in range(3)])
    assert read_slots(page) == {"busy_slots": 2.0}


@pytest.mark.parametrize("page", ["[]", "{}", "<html>", '[{"id": 0}]', '[{"is_processing": 1}]'])
def test_a_page_that_does_not_say_it_says_nothing(page: str) -> None:
    """An error page and a version that names it otherwise are no idle engine."""
    assert read_slots(page) == {}


def test_its_pages_are_made_when_they_are_asked_for() -> None:
    """What they say is not older than the question."""
    assert engine_states().path("llama.cpp") == "/slots"
    assert engine_states().traits("llama.cpp") == {"state_age_s": 0.0}
