"""The answer of an experiment from its course."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exonerate.core.deployment.model import Deployment
from exonerate.core.experiment.cell import CellRun
from exonerate.core.experiment.course import Course, Restart
from exonerate.core.experiment.result import by_position, experiment_answer, table_of
from exonerate.core.experiment.setup import Setup

SPEED = {"A": 100.0, "B": 104.0}


def setup(job: str = "ab", blocks: int = 4) -> Setup:
    """Four blocks over two cells."""
    fields: dict[str, Any] = {
        "job": job, "rules": "r", "seed": 1, "service": "s", "hop": "e", "url": "u",
        "deployment": Deployment(name="d", model="m", folder="/"), "arms": ("A", "B"),
        "blocks": blocks, "cells": (8, 1), "prompt_tokens": 1, "max_tokens": 1,
        "deadline_s": 60.0,
    }  # fmt: skip
    return Setup(**fields)


def run(cell: int, value: float) -> CellRun:
    """A cell that gave this value."""
    return CellRun(
        concurrency=cell, duration_s=1.0, tokens_per_s=value, requests=64, tokens_per_request=5.0,
        ends={}, latency_s_mean=1.0, in_flight=None, cpu_share=0.0, lag_ms_p99=0.0,
        client_bound=False, client_why="", steadiness=None,
    )  # fmt: skip


def course(planned: Setup, restarts: int) -> Course:
    """The first restarts of the schedule, with a little noise."""
    rng = np.random.default_rng(0)
    found = []
    for block in planned.schedule:
        for place, arm in enumerate(block.arms, start=1):
            speed = SPEED[arm] * float(rng.normal(1, 0.002))
            cells = {cell: run(cell, cell * speed) for cell in planned.cells}
            found.append(Restart(block=block.number, place=place, arm=arm, cells=cells))
    return Course(restarts=found[:restarts])


def test_restarts_are_trials() -> None:
    """Every restart and cell has its place in the table, cells ascending."""
    table = table_of(course(setup(), 8), setup())
    assert (table.cells, len(table.blocks)) == ((1, 8), 4)
    assert not np.isnan(table.log_values).any()
    assert not np.isnan(table.first).any()


def test_a_cell_without_a_value_keeps_its_column() -> None:
    """A cell that produced nothing is missing, not absent."""
    found = course(setup(), 8)
    for at, restart in enumerate(found.restarts):
        found.restarts[at] = Restart(
            block=restart.block, place=restart.place, arm=restart.arm,
            cells={8: restart.cells[8], 1: run(1, 0.0)},
        )  # fmt: skip
    table = table_of(found, setup())
    assert table.cells == (1, 8)
    assert np.isnan(table.log_values[:, :, 0]).all()


def test_an_experiment_that_ended_early_says_so() -> None:
    """Half a block counts for nothing, and the planned number is in the warning."""
    answer: Any = experiment_answer(course(setup(), 7), setup(), "interrupted in block-4-2")
    assert answer["blocks"] == 3
    assert "3 of 4 planned blocks were played" in answer["warnings"][0]
    assert len(answer["restarts"]) == 7
    assert answer["restarts"][0]["cells"][0]["cell"] == 1


def test_only_an_aa_tells_noise() -> None:
    """The noise belongs to an A/A; an A/B has none."""
    ab: Any = experiment_answer(course(setup(), 8), setup(), "done")
    aa: Any = experiment_answer(course(setup("aa"), 8), setup("aa"), "done")
    assert "noise" not in ab
    assert aa["noise"]["blocks"] == 4
    assert aa["noise"]["enough"] is False


def test_positions_are_kept_apart_for_the_noise() -> None:
    """First and second restarts of a block stand in their own column."""
    planned = setup()
    values = by_position(course(planned, 8), planned)
    first_b = [block.number - 1 for block in planned.schedule if block.arms[0] == "B"]
    assert values.shape == (4, 2, 2)
    assert np.exp(values[first_b, 0, 1]) == pytest.approx(104.0, rel=0.01)
