"""A verdict as typed values."""

from __future__ import annotations

from exonerate.core.json_types import Json
from exonerate.report.verdict_view import verdict_paragraph, verdict_view


def test_suspects_stand_by_their_posterior(verdict_answer: dict[str, Json]) -> None:
    """The likeliest suspect stands first however the answer ordered them."""
    suspects = verdict_answer["suspects"]
    assert isinstance(suspects, list)
    view = verdict_view({**verdict_answer, "suspects": suspects[::-1]})
    assert view.suspects[0].fault_class == "drops-requests"


def test_long_observation_ids_become_numbers() -> None:
    """Contradictions name observations by a short label that is shown beside their text."""
    answer: dict[str, Json] = {
        "suspects": [{"class": "a", "contradicted_by": ["through@edge=slow", "gone"]}],
        "observations": [{"id": "o1", "text": "x"}, {"id": "through@edge=slow", "text": "y"}],
    }
    view = verdict_view(answer)
    assert view.suspects[0].contradicted_by == ("o2", "gone")
    assert [seen.label for seen in view.observations] == ["o1", "o2"]


def test_the_confidence_is_that_of_the_weakest_fault() -> None:
    """With two faults the report does not show the surer one's confidence."""
    answer: dict[str, Json] = {
        "outcome": "fault",
        "faults": [
            {"class": "a", "layer": "proxy", "hops": ["p"], "confidence": 0.99},
            {"class": "b", "layer": "client", "hops": ["client"], "confidence": 0.8},
        ],
    }
    view = verdict_view(answer)
    assert view.confidence == 0.8
    assert view.headline == "proxy p: a; client: b"


def test_the_standing_debt_comes_before_the_next_step(verdict_answer: dict[str, Json]) -> None:
    """The paragraph says what still costs before it says what to do."""
    text = verdict_paragraph(verdict_view(verdict_answer), "K still stands.")
    assert text.index("K still stands.") < text.index("Next:")


def test_a_fault_outcome_without_faults_accuses_nobody() -> None:
    """An answer that names no fault is not turned into an accusation."""
    view = verdict_view({"outcome": "fault", "faults": []})
    assert "none is blamed" in verdict_paragraph(view)
