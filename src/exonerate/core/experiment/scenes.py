"""The scenes of an experiment: one restart of one arm, and the way back to the original bytes."""

from __future__ import annotations

import random

from exonerate.core.change.gates import PROCESS_FORMS
from exonerate.core.experiment.course import RESTART, RESTORE, SETTING, SWAP, scene_id
from exonerate.core.experiment.setup import Setup
from exonerate.core.scene import (
    Activity,
    LoadCell,
    PromptRecipe,
    ReadSetting,
    RequestRecipe,
    RestartService,
    Scene,
    SwapFile,
)
from exonerate.core.stats.design import Block

SWAP_LIMIT_S = 30.0
SLACK_S = 30.0
CELL_LIMIT_S = 600.0


def restart_scene(setup: Setup, block: Block, place: int, live: str | None) -> Scene:
    """Give the arm its bytes, restart, read what arrived, then one cell after the other."""
    arm = block.arms[place - 1]
    activities: list[Activity] = []
    target = setup.sha256_of(arm)
    if target is not None and live is not None and target != live:
        activities.append(_swap(setup, live, target))
    activities.append(_restart(setup, activities))
    knob = setup.knob_model
    if knob is not None and knob.form in PROCESS_FORMS:
        activities.append(
            ReadSetting(
                name=SETTING,
                service=setup.service,
                setting=knob.name,
                form=knob.form,
                after=(RESTART,),
            )
        )
    for cell in block.cells:
        activities.append(_cell(setup, block.number, cell, after=activities[-1].name))
    return Scene(
        id=scene_id(block.number, place),
        why=f"block {block.number} of {setup.blocks}, restart {place} of 2: {arm}",
        activities=tuple(activities),
        time_limit_s=_limit_s(setup) + CELL_LIMIT_S * len(block.cells),
    )


def restore_scene(setup: Setup, live: str | None, attempt: int) -> Scene:
    """Put the original bytes back where the file may hold `live`, and restart the service."""
    original = setup.original_sha256
    activities: list[Activity] = []
    if original is not None and live is not None:
        # With live == original this exchange changes nothing and proves the guess.
        activities.append(_swap(setup, live, original))
    activities.append(_restart(setup, activities))
    return Scene(
        id=f"{RESTORE}-{attempt}",
        why="the original bytes are put back and the service is restarted",
        activities=tuple(activities),
        time_limit_s=_limit_s(setup),
    )


def prompt_seed(seed: int, block: int, cell: int) -> int:
    """The seed of a cell's prompts; without a salt every request of it gets a prompt of its own.

    Both arms of a block get the same prompts, so that they produce the same tokens. No other
    block or cell does, so that no prefix cache is warm; a restart empties it between the arms.
    """
    return random.Random(f"{seed}/{block}/{cell}").getrandbits(31)


def _limit_s(setup: Setup) -> float:
    return SWAP_LIMIT_S + setup.service_model.ready_timeout_s + SLACK_S


def _swap(setup: Setup, live: str, target: str) -> SwapFile:
    assert setup.file is not None
    return SwapFile(name=SWAP, path=setup.file, expected_sha256=live, target_sha256=target)


def _restart(setup: Setup, before: list[Activity]) -> RestartService:
    return RestartService(
        name=RESTART, service=setup.service, after=tuple(one.name for one in before)
    )


def _cell(setup: Setup, block: int, cell: int, *, after: str) -> LoadCell:
    victim = setup.deployment.victim
    return LoadCell(
        name=f"cell-{cell}",
        hop=setup.hop,
        url=setup.url,
        request=RequestRecipe(
            path=victim.endpoint,
            model=setup.deployment.model,
            prompt=PromptRecipe(
                seed=prompt_seed(setup.seed, block, cell), prompt_tokens=setup.prompt_tokens
            ),
            max_tokens=setup.max_tokens,
            stream=True,
            api_key_env=victim.api_key_env,
            headers=victim.headers,
        ),
        concurrency=cell,
        requests=setup.requests_of(cell),
        deadline_s=setup.deadline_s,
        warmup_requests=cell,
        time_limit_s=CELL_LIMIT_S,
        after=(after,),
    )
