"""The decider of an experiment, step by step from its records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from exonerate.core.case.records import Record, RecordKind
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.codec import deployment_to_json
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.core.experiment.decide import RESTORE_ATTEMPTS_MAX, RULES, decide
from exonerate.core.experiment.setup import Setup, options_json
from exonerate.core.scene import LoadCell, Scene, SwapFile
from exonerate.core.scene_json import scene_to_json

SETUP = Setup(
    job="ab",
    rules=RULES,
    seed=1,
    deployment=Deployment(
        name="d",
        model="m",
        folder="/d",
        services=(Service(name="s", start=("./s",), ready_timeout_s=100.0),),
        knobs=(Knob(name="K", service="s", file="f", form="toml"),),
    ),
    service="s",
    hop="e",
    url="http://127.0.0.1:1",
    arms=("old", "new"),
    blocks=1,
    cells=(4,),
    prompt_tokens=10,
    max_tokens=5,
    deadline_s=60.0,
    knob="K",
    file="f",
    arm_sha256={"old": "sha-old", "new": "sha-new"},
    original_sha256="sha-original",
)


class Story:
    """The records of a run, told one after the other."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        body: Any = {
            "job": "ab",
            "rules": RULES,
            "seed": 1,
            "deployment": deployment_to_json(SETUP.deployment),
            "options": options_json(SETUP),
        }
        self.add("run_started", body)

    def add(self, kind: RecordKind, body: Any) -> None:
        """Append one record."""
        self.records.append(
            Record(seq=1, case="c", kind=kind, at="", body=body, prev="", hash="", run="r")
        )

    def next_scene(self) -> Scene:
        """What is decided now, written down as planned."""
        scene = decide(self.records)
        assert isinstance(scene, Scene)
        self.add("scene_planned", {"scene": scene_to_json(scene)})
        return scene

    def play(self, scene: Scene, **failed: str) -> None:
        """Play it; what is named in `failed` fails for that reason, and what follows is skipped."""
        events: list[Any] = []
        broken = False
        for activity in scene.activities:
            kind, data = _outcome(activity)
            if activity.name in failed or broken:
                kind, data = ("skipped" if broken else "failed"), {"why": failed.get(activity.name)}
                broken = True
            events.append({"activity": activity.name, "at_ns": 1, "kind": kind, "data": data})
        self.add("scene_played", {"scene": scene.id, "events": events})

    def verdict(self) -> Any:
        """The answer that is decided now."""
        decided = decide(self.records)
        assert isinstance(decided, Verdict)
        return decided.answer


def _outcome(activity: Any) -> tuple[str, Any]:
    if isinstance(activity, SwapFile):
        return "swapped", {"to_sha256": activity.target_sha256}
    if isinstance(activity, LoadCell):
        rows = [[n // 4 * 10**9, None, (n // 4 + 1) * 10**9, 5, "ok"] for n in range(32)]
        instrument = {"cpu_s": 0.0, "cpu_share": 0.0, "lag_ms_p99": 0.0}
        return "cell", {
            "concurrency": activity.concurrency,
            "begun_ns": 0,
            "ended_ns": 8 * 10**9,
            "rows": rows,
            "instrument": instrument,
        }
    return "restarted", {"service": "s", "pid": 1, "ready_s": 1.0}


def swaps(scene: Scene) -> Sequence[tuple[str, str]]:
    """From and to of every exchange of a scene."""
    return [
        (a.expected_sha256, a.target_sha256) for a in scene.activities if isinstance(a, SwapFile)
    ]


def test_each_exchange_starts_from_what_the_last_one_left() -> None:
    """From the original bytes to the first arm, to the second, and back to the original."""
    story = Story()
    seen: list[tuple[str, str]] = []
    for _ in range(3):
        scene = story.next_scene()
        seen.extend(swaps(scene))
        story.play(scene)
    first, second = (f"sha-{arm}" for arm in SETUP.schedule[0].arms)
    assert seen == [("sha-original", first), (first, second), (second, "sha-original")]
    assert story.verdict()["restored"] is True
    assert decide(story.records) == decide(list(story.records))


def test_a_toml_setting_is_not_looked_for_in_processes() -> None:
    """A form that no process shows is not read, and the gate says so."""
    story = Story()
    for _ in range(3):
        scene = story.next_scene()
        assert "setting" not in [activity.name for activity in scene.activities]
        story.play(scene)
    (gate,) = (g for g in story.verdict()["gates"] if g["gate"] == "environment")
    assert gate["status"] == "not_examined"


def test_a_scene_that_was_cut_off_leaves_two_possibilities() -> None:
    """The restore first tries the new bytes, then the old ones, and takes each only if it fits."""
    story = Story()
    cut = story.next_scene()
    ((original, target),) = swaps(cut)
    first = story.next_scene()
    assert (first.id, swaps(first)) == ("restore-1", [(target, "sha-original")])
    story.play(first, swap="it holds something else")
    second = story.next_scene()
    assert swaps(second) == [(original, "sha-original")]
    story.play(second)
    answer = story.verdict()
    assert answer["restored"] is True
    assert answer["stopped"] == f"interrupted in {cut.id}"


def test_an_interrupted_record_counts_as_cut_off() -> None:
    """What was seen of an interrupted scene is no proof of what it did last."""
    story = Story()
    cut = story.next_scene()
    story.add("scene_played", {"scene": cut.id, "events": [], "interrupted": True})
    assert story.next_scene().id == "restore-1"


def test_a_restore_that_was_cut_off_goes_on() -> None:
    """A kill in the middle of the restore leads to another restore, not to a verdict."""
    story = Story()
    story.next_scene()
    story.next_scene()
    again = story.next_scene()
    assert again.id == "restore-2"
    story.play(again)
    assert story.verdict()["restored"] is True


def test_restoring_has_an_end() -> None:
    """After four failed tries the answer says loudly that the original is not back."""
    story = Story()
    story.next_scene()
    for attempt in range(1, RESTORE_ATTEMPTS_MAX + 1):
        scene = story.next_scene()
        assert scene.id == f"restore-{attempt}"
        story.play(scene, swap="disk full")
    answer = story.verdict()
    assert answer["restored"] is False
    assert answer["primary"]["verdict"] == "invalid"
    (gate,) = (g for g in answer["gates"] if g["gate"] == "restore")
    assert "NOT back: swap: disk full" in gate["why"]


@pytest.mark.parametrize("step", ["swap", "restart"])
def test_a_restart_that_fails_ends_in_a_restore(step: str) -> None:
    """Neither the other arm nor another block is tried after an arm failed to start."""
    story = Story()
    story.play(story.next_scene(), **{step: "no"})
    restore = story.next_scene()
    assert restore.id == "restore-1"
    story.play(restore)
    answer = story.verdict()
    assert answer["primary"]["verdict"] == "invalid"
    assert f"{step} failed: no" in answer["primary"]["why"]


def test_a_cell_that_fails_spoils_that_cell_and_the_rest_goes_on() -> None:
    """A load cell that could not be run is a broken gate of its cell only."""
    story = Story()
    story.play(story.next_scene(), **{"cell-4": "time limit"})
    assert story.next_scene().id == "block-1-2"


def test_every_scene_has_a_limit_in_time() -> None:
    """A restart may take the service's own time and each cell its own, and no more."""
    story = Story()
    scene = story.next_scene()
    assert scene.time_limit_s == 100.0 + 60.0 + 600.0
    restore = story.next_scene()
    assert restore.time_limit_s == 160.0
