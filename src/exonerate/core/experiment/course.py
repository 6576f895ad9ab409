"""The course of an experiment so far, folded from its records: what ran, what failed, what is live.

A scene that was planned and has no whole played record was cut off: Ctrl-C, a crash, a kill. Its
file may hold the bytes from before or after the exchange, so both stay possible until one is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from exonerate.core.case.records import Record
from exonerate.core.experiment.cell import CellRun, cell_run
from exonerate.core.experiment.setup import Setup
from exonerate.core.scene import Event, Scene, SwapFile
from exonerate.core.scene_json import event_from_json, scene_from_json

RESTORE = "restore"
SWAP, RESTART, SETTING = "swap", "restart", "setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """One restart of one arm that was played; `setting` holds what was seen of the knob."""

    block: int
    place: int
    arm: str
    ready_s: float | None = None
    setting: tuple[Event, ...] = ()
    cells: Mapping[int, CellRun] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Course:
    """What has happened so far.

    `live` holds every hash that the file may have now, likeliest first; empty without a file.
    `touched` is set once anything may have been changed or restarted since the original state.
    """

    restarts: list[Restart] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    touched: bool = False
    cut_off: str | None = None
    restores: int = 0
    restored: bool | None = None
    restore_why: str = ""


def course_of(records: Sequence[Record], setup: Setup) -> Course:
    """Fold the planned and played scenes of a run."""
    course = Course(live=[setup.original_sha256] if setup.original_sha256 else [])
    played = _played(records)
    for record in records:
        if record.kind != "scene_planned":
            continue
        body: Any = record.body
        scene = scene_from_json(body["scene"])
        events = played.get(scene.id)
        if events is None:
            _cut_off(course, scene)
        elif scene.id.startswith(RESTORE):
            _restore(course, scene, events, setup)
        else:
            _restart(course, scene, events, setup)
    return course


def scene_id(block: int, place: int) -> str:
    """The id of the scene that restarts the arm at one place of a block."""
    return f"block-{block}-{place}"


def _played(records: Sequence[Record]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for record in records:
        if record.kind == "scene_played":
            body: Any = record.body
            # An interrupted scene was seen in part only: what it did last may be missing.
            if not body.get("interrupted"):
                found[str(body["scene"])] = [event_from_json(event) for event in body["events"]]
    return found


def _cut_off(course: Course, scene: Scene) -> None:
    course.cut_off = course.cut_off or scene.id
    course.touched = True
    course.restored, course.restore_why = False, f"interrupted in {scene.id}"
    course.live = _possible(course.live, scene)
    if scene.id.startswith(RESTORE):
        course.restores += 1


def _possible(live: list[str], scene: Scene) -> list[str]:
    """What the file may hold when nobody saw whether the exchange was made."""
    hashes = list(live)
    for activity in scene.activities:
        if isinstance(activity, SwapFile):
            hashes = [activity.target_sha256, activity.expected_sha256, *hashes]
    return list(dict.fromkeys(hashes))


def _failures(events: Sequence[Event]) -> dict[str, str]:
    """Activity to the reason why it failed or was skipped."""
    return {
        event.activity: str(event.data.get("why") or f"{event.kind}: {event.data.get('because')}")
        for event in events
        if event.kind in ("failed", "skipped")
    }


def _restart(course: Course, scene: Scene, events: Sequence[Event], setup: Setup) -> None:
    block, place = (int(part) for part in scene.id.split("-")[1:3])
    arm = setup.schedule[block - 1].arms[place - 1]
    failures = _failures(events)
    by_kind = {event.kind: event.data for event in events}
    course.touched = True
    _follow_file(course, scene, events, failures)
    restarted = by_kind.get("restarted")
    course.restarts.append(
        Restart(
            block=block,
            place=place,
            arm=arm,
            ready_s=None if restarted is None else _number(restarted.get("ready_s")),
            setting=tuple(event for event in events if event.activity == SETTING),
            cells={
                run.concurrency: run
                for run in (cell_run(event.data) for event in events if event.kind == "cell")
            },
            failures=failures,
        )
    )


def _follow_file(
    course: Course, scene: Scene, events: Sequence[Event], failures: Mapping[str, str]
) -> None:
    swapped = [str(event.data["to_sha256"]) for event in events if event.kind == "swapped"]
    if swapped:
        course.live = [swapped[-1]]
    elif SWAP in failures or "scene" in failures:
        course.live = _possible(course.live, scene)


def _restore(course: Course, scene: Scene, events: Sequence[Event], setup: Setup) -> None:
    failures = _failures(events)
    course.restores += 1
    swaps = [activity for activity in scene.activities if isinstance(activity, SwapFile)]
    seen = any(event.kind == "swapped" for event in events)
    if swaps and not seen and SWAP in failures:
        # The file was not what this attempt expected, or the exchange itself failed: the guess
        # goes to the end of the line.
        guess = swaps[0].expected_sha256
        course.live = [*(sha for sha in course.live if sha != guess), guess]
    else:
        _follow_file(course, scene, events, failures)
    original = setup.original_sha256
    whole = original is None or course.live[:1] == [original]
    course.restored = whole and not failures
    course.restore_why = "; ".join(f"{name}: {why}" for name, why in failures.items())


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
