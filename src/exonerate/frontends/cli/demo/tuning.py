"""The team's old benchmark: one run for each cell, written into a document, never repeated."""

from __future__ import annotations

from pathlib import Path

from exonerate.compose import (
    build_workbench,
    ledger_place,
    load_deployment,
)
from exonerate.core.deployment.knobs import with_value
from exonerate.core.experiment.cell import cell_run
from exonerate.core.scene import LoadCell, PromptRecipe, RequestRecipe, Scene
from exonerate.errors import ExonerateError
from exonerate.frontends.cli.demo.stage import (
    ALIAS,
    KNOB,
    KNOB_BASELINE,
    KNOB_TUNED,
    Stage,
)
from exonerate.frontends.cli.interrupts import run_async
from exonerate.frontends.cli.output import ProgressLine

PROMPT_TOKENS, OUTPUT_TOKENS = 230, 4
DOCUMENT = "PERF_PLAN.md"
_TEMPLATE = """\
# Prefill tuning of the demo engine

Host: this machine, llama.cpp with SmolLM2-135M, 1 thread; prompts of about {prompt} tokens,
{output} output tokens, closed loop.

## {knob} A/B (output tokens/s)

| Concurrency (C) | Baseline ({baseline}) | {knob}={tuned} | Gain |
|---|---|---|---|
{rows}

Correctness: output unchanged.
"""


def write_document(stage: Stage, cells: tuple[int, ...], requests: int) -> Path:
    """Measure both values of the knob once and write the table; leaves the engine stopped.

    This is what was done before anybody thought of Exonerate, so nothing of it is in the ledger.
    """
    values = {
        value: _measure(stage, value, cells, requests) for value in (KNOB_BASELINE, KNOB_TUNED)
    }
    rows = []
    for cell in cells:
        base, tuned = values[KNOB_BASELINE][cell], values[KNOB_TUNED][cell]
        rows.append(f"| {cell} | {base:.2f} | {tuned:.2f} | {tuned / base - 1:+.1%} |")
    document = stage.folder / DOCUMENT
    document.write_text(
        _TEMPLATE.format(
            prompt=PROMPT_TOKENS,
            output=OUTPUT_TOKENS,
            knob=KNOB,
            baseline=KNOB_BASELINE,
            tuned=KNOB_TUNED,
            rows="\n".join(rows),
        )
    )
    return document


def _measure(stage: Stage, value: str, cells: tuple[int, ...], requests: int) -> dict[int, float]:
    deployment = load_deployment(stage.config)
    knob = next(knob for knob in deployment.knobs if knob.name == KNOB)
    stage.script.write_bytes(with_value(stage.script.read_bytes(), knob, value))
    with stage.engine_stopped_at_the_end():
        stage.start_engine()
        workbench = build_workbench(deployment, ledger_place(None, stage.config))
        progress = ProgressLine()
        events = run_async(workbench.player.play(_scene(stage, cells, requests), progress))
        progress.done()
    found = {int(str(e.data["concurrency"])): cell_run(e.data) for e in events if e.kind == "cell"}
    missing = [cell for cell in cells if cell not in found or not found[cell].tokens_per_s]
    if missing:
        raise ExonerateError(
            f"the engine of the demo did not answer at concurrency {missing[0]}",
            "run the demo again; if it fails again, run it with `--keep DIR` and read the log",
        )
    return {cell: run.tokens_per_s for cell, run in found.items()}


def _scene(stage: Stage, cells: tuple[int, ...], requests: int) -> Scene:
    activities = [
        LoadCell(
            name=f"C={cell}",
            hop="engine",
            url=f"http://127.0.0.1:{stage.engine_port}",
            request=RequestRecipe(
                path="/v1/chat/completions",
                model=ALIAS,
                prompt=PromptRecipe(seed=stage.seed, prompt_tokens=PROMPT_TOKENS),
                max_tokens=OUTPUT_TOKENS,
            ),
            concurrency=cell,
            requests=requests,
            warmup_requests=1,
            deadline_s=60.0,
            after=(f"C={cells[index - 1]}",) if index else (),
        )
        for index, cell in enumerate(cells)
    ]
    return Scene(id="tuning", why="the old benchmark", activities=tuple(activities))
