"""The confusion matrix as a picture, a page and Markdown."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from exonerate.report.lab import LabReport, LabRun, NotRun
from exonerate.report.lab_matrix import confusion_picture, lab_html, lab_markdown

SVG = "{http://www.w3.org/2000/svg}"


def run(**more: Any) -> LabRun:
    """A right answer, or what `more` makes of it."""
    plain: dict[str, Any] = {
        "scenario": "S1", "seed": 1, "version": "0.1.0", "expected": "drops-requests",
        "explanation": None, "got": "drops-requests@edge", "points": 1.0,
        "false_accusation": False, "right_layer": True, "right_class": True, "why": "right",
        "elapsed_s": 30.0, "timers_s": 0.0, "commit": "abc1234",
    }  # fmt: skip
    return LabRun(**{**plain, **more})


RUNS = [
    run(),
    run(seed=2, got="insufficient_evidence", points=0.0, right_layer=False, right_class=False,
        why="nobody was accused"),
    run(scenario="S58", expected="no_fault", got="no_fault"),
    run(scenario="S35", expected="no_fault", explanation="saturated", got="stuck@engine",
        points=-3.0, false_accusation=True, right_layer=False, right_class=False),
]  # fmt: skip


def _cells(runs: list[LabRun]) -> list[tuple[str, str]]:
    """Colour and tip of each cell."""
    tree = ElementTree.fromstring(confusion_picture(runs))
    return [
        (str(rect.get("class")), str(rect.findtext(f"{SVG}title")))
        for rect in tree.iter(f"{SVG}rect")
    ]


def test_right_answers_are_green_and_accused_innocents_red() -> None:
    """Each cell says by colour what it is worth, and by a tip which runs it holds."""
    cells = {tip: css for css, tip in _cells(RUNS)}
    assert cells["drops-requests answered by drops-requests: S1 seed 1"] == "good"
    assert cells["drops-requests answered by insufficient_evidence: S1 seed 2"] == "none"
    assert cells["no_fault answered by no_fault: S58 seed 1"] == "good"
    assert cells["saturated answered by stuck: S35 seed 1"] == "bad"


def test_the_worst_of_a_cell_decides_its_colour() -> None:
    """A right class at the wrong hop among right ones is not hidden by them."""
    runs = [run(), run(seed=2, points=-3.0, false_accusation=True, got="drops-requests@inner")]
    assert _cells(runs) == [
        ("bad", "drops-requests answered by drops-requests: S1 seed 1, S1 seed 2")
    ]


def test_the_page_says_who_made_it_and_what_is_stale() -> None:
    """Commit, stale rows and what was not run stand on the page; texts are escaped."""
    missing = NotRun(scenario="S6", seed=None, why="needs <mitmdump>", hint="get it")
    page = lab_html(LabReport(runs=RUNS, not_run=[missing], stale=frozenset({("S1", 1)})))
    assert "abc1234" in page
    assert "1 runs are stale" in page
    assert "needs &lt;mitmdump&gt;" in page
    assert "Nothing was run" in lab_html(LabReport(runs=[]))


def test_markdown_lists_what_was_confused() -> None:
    """A row a scenario, and a line for each run that was not right."""
    text = lab_markdown(LabReport(runs=RUNS))
    assert "| S1 | 1 2 | drops-requests |" in text
    assert "- S35 seed 1: saturated → stuck@engine" in text
    assert "S58 seed" not in text
