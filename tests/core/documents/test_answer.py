"""The founding document in the form that `read --json` promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from exonerate.core.documents.answer import reading_json
from exonerate.core.documents.formats import Options, Unreadable, read_source
from exonerate.core.documents.groups import grouped
from exonerate.core.documents.model import Reading
from exonerate.core.json_access import at
from exonerate.core.json_types import Json

DOCUMENT = Path(__file__).parents[2] / "data" / "documents" / "DSV4_DECODE_PERF_PLAN.md"


@pytest.fixture(name="answer")
def founding_answer() -> Json:
    """The answer for the founding document."""
    source = read_source("plan.md", DOCUMENT.read_bytes(), Options())
    assert not isinstance(source, Unreadable)
    return at(reading_json(Reading(grouped([source]))), "sources", 0)


def test_the_founding_table(answer: Json) -> None:
    """Arms, cells, stated and recomputed gains are those of the story."""
    assert at(answer, "comparisons", 0, "line") == 8
    assert at(answer, "comparisons", 0, "metric") == "output_tokens_per_s"
    assert at(answer, "comparisons", 0, "arms") == ["256", "512"]
    cells = at(answer, "comparisons", 0, "cells")
    assert isinstance(cells, list)
    assert [at(cell, "cell") for cell in cells] == [48, 64, 80, 96]
    assert [at(cell, "stated_gain") for cell in cells] == [None, 0.128, 0.012, 0.057]
    assert [at(cell, "agrees") for cell in cells] == [None, True, True, True]
    assert at(cells[1], "computed_gain") == pytest.approx(0.1281, abs=1e-4)
    assert at(cells[1], "values") == {"256": 719.5, "512": 811.7}


def test_the_founding_grade(answer: Json) -> None:
    """One run per cell and nothing said of order or day: grade D, reasons given."""
    assert at(answer, "comparisons", 0, "grade") == "D"
    why = at(answer, "comparisons", 0, "why")
    assert isinstance(why, list)
    assert why[0] == "n = 1 per cell"
    assert any("order" in str(reason) for reason in why)


def test_the_pasted_copy_is_the_same_evidence(answer: Json) -> None:
    """The copy on one line has its own line and the group of the original."""
    assert at(answer, "comparisons", 1, "line") == 19
    assert at(answer, "comparisons", 1, "group") == at(answer, "comparisons", 0, "group")
    assert at(answer, "comparisons", 1, "grade") == "D"


def test_the_founding_dip_is_only_suspected(answer: Json) -> None:
    """96 below 80 at 256 is suspected, never called an anomaly from one run."""
    (dip,) = at(answer, "comparisons", 0, "anomalies") or [None]  # type: ignore[misc]  # a list
    assert at(dip, "arm") == "256"
    assert at(dip, "cells") == [80, 96]
    assert at(dip, "verdict") == "suspected"
    assert at(dip, "removed_by") == "512"


def test_the_founding_claims(answer: Json) -> None:
    """Correctness is claimed, undefined, and on its line."""
    claims = at(answer, "claims")
    assert claims == [
        {"text": "0% leak", "line": 15, "status": "claimed", "defined": False},
        {
            "text": "No low-C regression (C1/C8 identical to baseline)",
            "line": 15,
            "status": "claimed",
            "defined": False,
        },
    ]
