"""Lists inside JSON answers."""

from __future__ import annotations

from exonerate.core.json_types import Json
from exonerate.report.json_lists import numbers_at, objects_at, texts_at

ANSWER: Json = {"mixed": [{"a": 1}, "x", 2, None, True], "no": "list"}


def test_entries_of_another_type_are_left_out() -> None:
    """Each list holds only entries of its type."""
    assert objects_at(ANSWER, "mixed") == [{"a": 1}]
    assert texts_at(ANSWER, "mixed") == ["x"]
    assert numbers_at(ANSWER, "mixed") == [2]


def test_what_is_no_list_is_empty() -> None:
    """A missing or mistyped list is empty."""
    assert objects_at(ANSWER, "no") == []
    assert texts_at(ANSWER, "nothing") == []
