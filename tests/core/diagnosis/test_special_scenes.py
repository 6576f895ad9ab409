"""Scenes that ask for contents, and for what becomes of requests that are left."""

import pytest
from tests.support.world import OK, World

from exonerate.core.diagnosis.special_scenes import abort_scene, content_scene
from exonerate.core.scene import ProbeSession, Scene

DEPLOYMENT = World(lambda _: OK).deployment


def sessions_of(scene: Scene) -> list[ProbeSession]:
    """Who asks, in the order of the scene."""
    return [activity for activity in scene.activities if isinstance(activity, ProbeSession)]


@pytest.mark.parametrize(("brief", "rounds"), [(False, 3), (True, 2)])
def test_the_same_questions_are_asked_one_after_the_other(brief: bool, rounds: int) -> None:
    """Our own load must not change the texts, and the last one asks where the first did."""
    sessions = sessions_of(content_scene(DEPLOYMENT, 2, 1, brief=brief))
    assert [s.hop for s in sessions] == ["engine", "edge", "inner", "engine", "engine"]
    assert len({s.request for s in sessions}) == 1
    assert {s.rounds for s in sessions} == {rounds}
    for place, session in enumerate(sessions):
        assert session.once_over == tuple(earlier.name for earlier in sessions[:place])


def test_answers_are_left_at_the_engine_before_they_are_left_at_the_entry() -> None:
    """What the engine does with it by itself is known before a box stands between."""
    *leaving, tail = sessions_of(abort_scene(DEPLOYMENT, 2, 1))
    assert [s.hop for s in leaving] == ["engine", "edge"]
    assert all(s.deadline_s < 5 and s.request.stream for s in leaving)
    assert tail.once_over == tuple(s.name for s in leaving)


def test_where_time_is_short_only_the_entry_is_left() -> None:
    """That is all that the boxes need."""
    *leaving, _ = sessions_of(abort_scene(DEPLOYMENT, 2, 1, brief=True))
    assert [s.hop for s in leaving] == ["edge"]
