"""The verification as an operator reads it."""

from __future__ import annotations

from exonerate.core.json_types import JsonObject
from exonerate.report.verification import verification_text


def text(**changed: object) -> str:
    """The words for an answer with one verdict."""
    answer: dict[str, object] = {"records": 9, "first_bad": None, "verdicts": [], **changed}
    as_json: JsonObject = answer  # type: ignore[assignment]  # JSON by construction
    return verification_text(as_json, width=120)


def test_whole_chain_counts_its_records() -> None:
    """A sound ledger says how many records were checked."""
    assert text() == "chain ok: 9 records, none altered"


def test_broken_chain_names_the_first_bad_record() -> None:
    """A reader is told where the ledger stops being what was written."""
    assert "chain broken at record 4 of 9" in text(first_bad=4)


def test_each_verdict_says_whether_it_follows() -> None:
    """Same, not the same and not decided again are three different things."""
    verdicts = [
        {"id": "v1", "same": True},
        {"id": "v2", "same": False, "why": "record 7 does not follow"},
        {"id": "v3", "same": None, "why": "rules 1 are unknown"},
    ]
    shown = text(verdicts=verdicts, unfinished_runs=[{"run": "r9", "same": True}])
    for part in (
        "verdict v1: decided again",
        "v2: not the same: record 7",
        "v3: not decided again",
        "unfinished run r9",
    ):
        assert part in shown
