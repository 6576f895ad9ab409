"""A verdict of `locate` in the terminal and as Markdown."""

from __future__ import annotations

from exonerate.core.json_types import Json
from exonerate.report.verdict import verdict_markdown, verdict_text


def test_a_conviction_says_who_why_and_what_now(verdict_answer: dict[str, Json]) -> None:
    """The report names hop, class, confidence, evidence, who is cleared and the next step."""
    text = " ".join(verdict_text(verdict_answer, width=100).replace("│", " ").split())
    for fact in (
        "proxy edge: drops-requests",
        "after 3 requests",
        "confidence 99 %",
        "edge sent 0 bytes of it upstream",
        "a slow kernel keeps the engine busy",
        "Not examined",
        "knob restore",
        "o4, o5",
    ):
        assert fact in text, fact


def test_the_given_paragraph_is_used(verdict_answer: dict[str, Json]) -> None:
    """A paragraph that came with the verdict is told as it is."""
    answer = {**verdict_answer, "paragraph": "Repair edge; leave the knob alone."}
    assert "Repair edge; leave the knob alone." in verdict_text(answer)
    assert "Repair edge; leave the knob alone." in verdict_markdown(answer)


def test_nobody_and_not_enough_are_said_plainly() -> None:
    """Without a fault nobody is accused, whatever else the answer holds."""
    healthy: dict[str, Json] = {"outcome": "no_fault", "explanation": {"class": "saturated"}}
    assert "nobody is to blame: saturated" in verdict_text(healthy)
    unsure = verdict_text({"outcome": "insufficient_evidence", "next": ["observe the hang again"]})
    assert "does not suffice" in unsure
    assert "observe the hang again" in unsure


def test_a_boundary_names_both_sides() -> None:
    """A fault between two hops names both and the settings of each side."""
    answer: dict[str, Json] = {
        "outcome": "fault",
        "faults": [
            {
                "layer": "boundary",
                "hops": ["edge", "engine"],
                "class": "stale-reuse",
                "details": {"idle_s": 60.0, "setting": {"edge": "55 s", "engine": "> 60 s"}},
                "confidence": 0.9,
                "evidence": [],
            }
        ],
    }
    text = " ".join(verdict_text(answer).replace("│", " ").split())
    assert "boundary between edge and engine: stale-reuse" in text
    assert "after 60 s idle" in text
    assert "what to change: edge: 55 s and engine: > 60 s" in text


def test_an_odd_answer_is_shown_not_crashed_on() -> None:
    """Missing and mistyped parts of an answer are left out."""
    odd: dict[str, Json] = {
        "outcome": "fault",
        "faults": [{"hops": "edge", "details": [1], "confidence": "x"}, 3],
        "timeline": [{"lane": 1}, {"begin_s": 2, "end_s": 1}],
        "suspects": {"a": 1},
        "observations": [None],
    }
    assert "Fault found" in verdict_text(odd)
    assert "Fault found" in verdict_markdown(odd)
