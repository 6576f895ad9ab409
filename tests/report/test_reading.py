"""The terminal report of a reading."""

from __future__ import annotations

from exonerate.core.json_types import Json
from exonerate.report.reading import reading_text


def test_a_copy_is_named_not_repeated(reading_answer: dict[str, Json]) -> None:
    """The pasted copy is named as one and its numbers are shown once."""
    text = reading_text(reading_answer)
    assert "the same numbers as line 8; counted once" in text
    assert text.count("811.7") == 1


def test_every_line_fits(reading_answer: dict[str, Json]) -> None:
    """The report fits a narrow terminal."""
    assert all(len(line) <= 60 for line in reading_text(reading_answer, width=60).split("\n"))


def test_nothing_found_is_said() -> None:
    """A file without anything in it says so."""
    answer: dict[str, Json] = {"sources": [{"path": "a.md", "format": "markdown"}]}
    assert "nothing that a case could use" in reading_text(answer)
