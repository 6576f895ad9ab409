"""The course of an experiment, folded from its records."""

from __future__ import annotations

from typing import Any

from exonerate.core.case.records import Record, RecordKind
from exonerate.core.deployment.model import Deployment, Service
from exonerate.core.experiment.course import course_of
from exonerate.core.experiment.scenes import restart_scene
from exonerate.core.experiment.setup import Setup
from exonerate.core.scene import Scene
from exonerate.core.scene_json import scene_to_json

SETUP = Setup(
    job="ab",
    rules="r",
    seed=1,
    deployment=Deployment(name="d", model="m", folder="/", services=(Service(name="s"),)),
    service="s",
    hop="e",
    url="u",
    arms=("old", "new"),
    blocks=1,
    cells=(1,),
    prompt_tokens=1,
    max_tokens=1,
    deadline_s=60.0,
    file="f",
    arm_sha256={"old": "a", "new": "b"},
    original_sha256="o",
)
SCENE = restart_scene(SETUP, SETUP.schedule[0], 1, "o")
TARGET = {"old": "a", "new": "b"}[SETUP.schedule[0].arms[0]]


def record(kind: RecordKind, body: Any) -> Record:
    """One record of the run."""
    return Record(seq=1, case="c", kind=kind, at="", body=body, prev="", hash="")


def planned(scene: Scene = SCENE) -> Record:
    """The intent of a scene."""
    return record("scene_planned", {"scene": scene_to_json(scene)})


def played(*events: tuple[str, str, dict[str, Any]]) -> Record:
    """What was seen of the scene."""
    seen = [{"activity": a, "at_ns": 1, "kind": kind, "data": data} for a, kind, data in events]
    return record("scene_played", {"scene": SCENE.id, "events": seen})


def test_nothing_has_happened_yet() -> None:
    """Before the first scene the file holds the original and nothing was touched."""
    course = course_of([], SETUP)
    assert (course.live, course.touched, course.restored) == (["o"], False, None)


def test_an_exchange_that_was_seen_is_what_is_live() -> None:
    """After a swap the file holds the arm; the restart knows its block, place and arm."""
    course = course_of(
        [
            planned(),
            played(
                ("swap", "swapped", {"to_sha256": TARGET}),
                ("restart", "restarted", {"service": "s", "pid": 7, "ready_s": 3}),
            ),
        ],
        SETUP,
    )
    assert course.live == [TARGET]
    (restart,) = course.restarts
    assert (restart.block, restart.place, restart.arm) == (1, 1, SETUP.schedule[0].arms[0])
    assert (restart.ready_s, restart.cells) == (3.0, {})


def test_a_failed_exchange_leaves_both_contents_possible() -> None:
    """When the swap failed, the file may hold the new bytes or the old ones."""
    course = course_of([planned(), played(("swap", "failed", {"why": "disk full"}))], SETUP)
    assert course.live == [TARGET, "o"]
    assert course.restarts[0].failures == {"swap": "disk full"}


def test_a_scene_without_an_end_was_cut_off() -> None:
    """A planned scene that nobody finished leaves both contents possible and is remembered."""
    course = course_of([planned()], SETUP)
    assert (course.cut_off, course.live, course.restored) == (SCENE.id, [TARGET, "o"], False)
    assert course.restarts == []


def test_a_scene_that_ran_out_of_time_is_uncertain() -> None:
    """The limit of the scene is a failure, and an unseen exchange stays possible."""
    course = course_of([planned(), played(("scene", "failed", {"why": "did not end"}))], SETUP)
    assert course.live == [TARGET, "o"]
    assert "scene" in course.restarts[0].failures
