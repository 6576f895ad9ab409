"""What llama.cpp says of itself."""

import json

import pytest

from exonerate.adapters.engines.names import engine_states


@pytest.mark.parametrize(("busy", "slots"), [([True, False, True], 2), ([False], 0)])
def test_busy_slots_are_counted(busy: list[bool], slots: int) -> None:
    """llama.cpp's second source; what it says there of prompts is not looked at."""
    page = json.dumps([{"id": n, "is_processing": one} for n, one in enumerate(busy)])
    assert engine_states().read("llama.cpp", page) == {"busy_slots": slots}
    assert engine_states().traits("llama.cpp") == {"state_age_s": 0.0}


@pytest.mark.parametrize("page", ["[]", "{}", "[1]", '[{"id": 0}]', "no"])
def test_a_page_without_slots_says_nothing(page: str) -> None:
    """As where slots are not shown, or something else answers."""
    assert engine_states().read("llama.cpp", page) == {}
