"""The answer of an experiment: its restarts as trials, compared, with gates and noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exonerate.core.experiment.answer import Surroundings, comparison_answer
from exonerate.core.experiment.course import Course
from exonerate.core.experiment.gate import broken_cells
from exonerate.core.experiment.measured_gates import gates_of_course, instrument_of
from exonerate.core.experiment.setup import Setup
from exonerate.core.experiment.table_gates import not_examined_of, order_gate, warnings_of
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.stats.comparison import Question, compare
from exonerate.core.stats.intervals import FloatArray
from exonerate.core.stats.noise import BLOCKS_FOR_NOISE, Noise, noise_of
from exonerate.core.stats.stopping import FIXED, LOOKS_AT_3_5_8
from exonerate.core.stats.trials import Trial, TrialTable, tabulate

METRIC = "output_tokens_per_s"


def question_of(setup: Setup) -> Question:
    """What was asked before the first block."""
    return Question(
        margin=setup.margin,
        primary=setup.primary,
        plan=LOOKS_AT_3_5_8 if setup.looks else FIXED,
        guards=setup.guards,
        guard_margin=setup.margin,
    )


def table_of(course: Course, setup: Setup) -> TrialTable:
    """The restarts as trials; every planned cell has its column, measured or not."""
    trials = [
        Trial(
            block=str(restart.block),
            order=restart.place,
            arm=restart.arm,
            cell=cell,
            value=run.tokens_per_s,
        )
        for restart in course.restarts
        for cell, run in restart.cells.items()
        if run.tokens_per_s > 0
    ]
    table = tabulate(trials, setup.arms)
    return _with_every_cell(table, setup)


def experiment_answer(course: Course, setup: Setup, stopped: str) -> JsonObject:
    """The contract's answer, with what was set up, how it ended and what it leaves behind."""
    table, question = table_of(course, setup), question_of(setup)
    gates = (order_gate(table), *gates_of_course(course, setup))
    comparison = compare(table, question, invalid=broken_cells(gates, table.cells))
    surroundings = Surroundings(
        metric=METRIC,
        gates=gates,
        instrument=instrument_of(course),
        warnings=(*_unfinished(course, setup, stopped), *warnings_of(table)),
        not_examined=not_examined_of(table),
    )
    answer = comparison_answer(comparison, question, surroundings)
    answer |= {
        "job": setup.job,
        "knob": setup.knob,
        "service": setup.service,
        "seed": setup.seed,
        "blocks_planned": setup.blocks,
        "stopped": stopped,
        "restored": course.restored is not False,
        "restarts": _restarts(course),
    }
    if setup.job == "aa":
        answer["noise"] = _noise_json(noise_of(by_position(course, setup)))
    return answer


def by_position(course: Course, setup: Setup) -> FloatArray:
    """Logarithms of the values as (blocks, 2 positions, cells), NaN where one is missing."""
    values = np.full((setup.blocks, 2, len(setup.cells)), np.nan)
    for restart in course.restarts:
        for cell, run in restart.cells.items():
            if run.tokens_per_s > 0:
                at = setup.cells.index(cell)
                values[restart.block - 1, restart.place - 1, at] = np.log(run.tokens_per_s)
    return values


def _with_every_cell(table: TrialTable, setup: Setup) -> TrialTable:
    cells = tuple(sorted(setup.cells))
    if table.cells == cells:
        return table
    values = np.full((2, len(table.blocks), len(cells)), np.nan)
    for at, cell in enumerate(table.cells):
        values[:, :, cells.index(int(cell))] = table.log_values[:, :, at]
    return TrialTable(table.arms, table.blocks, cells, values, table.first)


def _unfinished(course: Course, setup: Setup, stopped: str) -> Sequence[str]:
    done = len(course.restarts) // 2
    if done >= setup.blocks:
        return ()
    return (f"{done} of {setup.blocks} planned blocks were played: {_reason(course, stopped)}",)


def _reason(course: Course, stopped: str) -> str:
    return f"interrupted in {course.cut_off}" if course.cut_off else stopped


def _restarts(course: Course) -> list[Json]:
    """Each restart with its values: the trials, ready to be analysed again elsewhere."""
    return [
        {
            "block": restart.block,
            "order": restart.place,
            "arm": restart.arm,
            "ready_s": restart.ready_s,
            "cells": [
                {
                    "cell": cell,
                    "value": run.tokens_per_s,
                    "duration_s": run.duration_s,
                    "requests": run.requests,
                    "failed": run.failed,
                }
                for cell, run in sorted(restart.cells.items())
            ],
        }
        for restart in course.restarts
    ]


def _noise_json(noise: Noise | None) -> Json:
    if noise is None:
        return None
    return {
        "cell_value_sd": noise.cell_value_sd,
        "restart_sd": noise.restart_sd,
        "within_sd": noise.within_sd,
        "position_effect": noise.position_effect,
        "position_ci": None if noise.position_interval is None else list(noise.position_interval),
        "drift_per_block": noise.drift_per_block,
        "drift_ci": None if noise.drift_interval is None else list(noise.drift_interval),
        "blocks": noise.blocks,
        "enough": noise.blocks >= BLOCKS_FOR_NOISE,
    }
