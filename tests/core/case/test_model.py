"""A folded case as a value."""

from __future__ import annotations

from exonerate.core.case.model import Case, UnplayedScene


def test_case_with_a_planned_scene_and_no_events_is_unfinished() -> None:
    """A scene that was planned and not played makes the case unfinished."""
    case = Case(id="c", title="t", symptom="hang", deployment=None, opened_at="2026-01-01")
    scene = UnplayedScene(run="r", scene="s", why="ask", planned_at="2026-01-01")
    assert not case.is_unfinished
    assert Case(
        id="c", title="t", symptom="hang", deployment=None, opened_at="", unplayed=(scene,)
    ).is_unfinished
