"""The second page of llama.cpp's state: its slots."""

import json

import pytest

from exonerate.adapters.engines.llamacpp import read_slots


def test_slots_at_work_are_counted() -> None:
    """Each says of itself whether it works."""
    page = json.dumps([{"id": n, "is_processing": n < 2} for n in range(3)])
    assert read_slots(page) == {"busy_slots": 2.0}


@pytest.mark.parametrize("page", ["[]", "{}", "<html>", '[{"id": 0}]', '[{"is_processing": 1}]'])
def test_a_page_that_does_not_say_it_says_nothing(page: str) -> None:
    """An error page and a version that names it otherwise are no idle engine."""
    assert read_slots(page) == {}
