"""The scenes of an experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from exonerate.core.deployment.model import Deployment, Knob, Service, Victim
from exonerate.core.experiment.scenes import restart_scene, restore_scene
from exonerate.core.experiment.setup import Setup
from exonerate.core.scene import LoadCell, ReadSetting, RestartService, Scene, SwapFile
from exonerate.core.scene_json import scene_from_json, scene_to_json

SETUP = Setup(
    job="ab",
    rules="r",
    seed=5,
    deployment=Deployment(
        name="d",
        model="m",
        folder="/d",
        victim=Victim(endpoint="/v1/completions", api_key_env="KEY"),
        services=(Service(name="s", start=("./s",)),),
        knobs=(Knob(name="K", service="s", file="f", form="export"),),
    ),
    service="s",
    hop="e",
    url="http://127.0.0.1:1",
    arms=("1", "2"),
    blocks=2,
    cells=(1, 8),
    prompt_tokens=100,
    max_tokens=5,
    deadline_s=60.0,
    knob="K",
    file="f",
    arm_sha256={"1": "a", "2": "b"},
    original_sha256="o",
)


def loads(scene: Scene) -> list[LoadCell]:
    """The load cells of a scene."""
    return [activity for activity in scene.activities if isinstance(activity, LoadCell)]


def kinds(scene: Scene) -> list[type]:
    """The types of a scene's activities, in order."""
    return [type(activity) for activity in scene.activities]


def test_a_file_that_already_holds_the_arm_is_not_exchanged() -> None:
    """Two restarts of one arm in a row need no exchange; another arm does."""
    block = SETUP.schedule[0]
    target = {"1": "a", "2": "b"}[block.arms[0]]
    load = [LoadCell, LoadCell]
    assert kinds(restart_scene(SETUP, block, 1, target)) == [RestartService, ReadSetting, *load]
    assert kinds(restart_scene(SETUP, block, 1, "o")) == [
        SwapFile, RestartService, ReadSetting, *load,
    ]  # fmt: skip


def test_prompts_are_shared_by_the_arms_of_a_block_and_by_nothing_else() -> None:
    """Both arms get the same prompts; another cell or block gets others."""
    prompts: list[list[Any]] = [
        [cell.request.prompt for cell in loads(restart_scene(SETUP, block, place, "o"))]
        for block in SETUP.schedule
        for place in (1, 2)
    ]
    assert prompts[0] == prompts[1]
    assert prompts[2] == prompts[3]
    assert len({prompt.seed for pair in prompts for prompt in pair}) == 4
    assert {prompt.salt for pair in prompts for prompt in pair} == {""}
    assert {prompt.prompt_tokens for pair in prompts for prompt in pair} == {100}


def test_load_is_as_the_victim_sends_it() -> None:
    """Endpoint, model and the name of the key's variable are the victim's."""
    cell = loads(restart_scene(SETUP, SETUP.schedule[0], 1, "o"))[0]
    request = cell.request
    assert (request.path, request.model, request.api_key_env) == ("/v1/completions", "m", "KEY")
    assert cell.warmup_requests == cell.concurrency
    assert cell.requests == SETUP.requests_of(cell.concurrency)


def test_the_way_back_exchanges_and_restarts() -> None:
    """The restore goes from what may be live to the original; without a file it only restarts."""
    scene = restore_scene(SETUP, "b", 2)
    assert (scene.id, kinds(scene)) == ("restore-2", [SwapFile, RestartService])
    swap = scene.activities[0]
    assert isinstance(swap, SwapFile)
    assert (swap.expected_sha256, swap.target_sha256) == ("b", "o")
    without_file = replace(SETUP, knob=None, file=None, arm_sha256=None, original_sha256=None)
    assert kinds(restore_scene(without_file, None, 1)) == [RestartService]
    assert SwapFile not in kinds(restart_scene(without_file, SETUP.schedule[0], 1, None))


def test_scenes_survive_the_ledger() -> None:
    """A scene comes back from its JSON as it was."""
    for scene in (restart_scene(SETUP, SETUP.schedule[0], 1, "o"), restore_scene(SETUP, "a", 1)):
        assert scene_from_json(scene_to_json(scene)) == scene
