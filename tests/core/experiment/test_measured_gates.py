"""The gates of an experiment that was run here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from exonerate.core.deployment.model import Deployment, Knob, KnobForm
from exonerate.core.experiment.cell import CellRun
from exonerate.core.experiment.course import Course, Restart
from exonerate.core.experiment.gate import Gate
from exonerate.core.experiment.measured_gates import (
    environment_gate,
    gates_of_course,
    instrument_of,
    restore_gate,
)
from exonerate.core.experiment.setup import Setup
from exonerate.core.scene import Event
from exonerate.core.stats.steady import Steadiness

RUN = CellRun(
    concurrency=8,
    duration_s=10.0,
    tokens_per_s=100.0,
    requests=64,
    tokens_per_request=20.0,
    ends={},
    latency_s_mean=1.0,
    in_flight=8.0,
    cpu_share=0.1,
    lag_ms_p99=1.0,
    client_bound=False,
    client_why="",
    steadiness=None,
)


def setup(form: KnobForm = "export", default: str | None = None) -> Setup:
    """An A/B of old and new over one cell."""
    knob = Knob(name="K", service="s", file="f", form=form, default=default)
    fields: dict[str, Any] = {
        "job": "ab", "rules": "r", "seed": 1, "service": "s", "hop": "e", "url": "u",
        "deployment": Deployment(name="d", model="m", folder="/", knobs=(knob,)),
        "arms": ("old", "new"), "blocks": 1, "cells": (8,), "prompt_tokens": 1, "max_tokens": 1,
        "deadline_s": 60.0, "knob": "K",
    }  # fmt: skip
    return Setup(**fields)


def course(**new: Any) -> Course:
    """One block; the restart of the new arm is changed as told."""
    old = Restart(block=1, place=1, arm="old", cells={8: RUN})
    return Course(
        restarts=[old, Restart(block=1, place=2, arm="new", cells={8: replace(RUN, **new)})]
    )


def statuses(found: Course) -> dict[str, str]:
    """The status of each gate of the cell."""
    gates = gates_of_course(found, setup("toml"))
    return {gate.name: gate.status for gate in gates if gate.cell == 8}


def test_a_clean_cell_keeps_its_gates() -> None:
    """Nothing is broken, and what is too short to tell is said to be so."""
    assert statuses(course()) == {
        "errors": "kept",
        "tokens": "kept",
        "in-flight": "kept",
        "instrument": "kept",
        "steady-state": "not_examined",
    }


@pytest.mark.parametrize(
    ("change", "gate"),
    [
        ({"ends": {"hXT": 1}}, "errors"),
        ({"tokens_per_request": 19.8}, "tokens"),
        ({"in_flight": 7.1}, "in-flight"),
        ({"client_bound": True}, "instrument"),
    ],
)
def test_each_fault_breaks_its_own_gate(change: dict[str, Any], gate: str) -> None:
    """One failed request in 64, 1 % fewer tokens, 7 of 8 in flight, a busy client, a drift."""
    broken = [name for name, status in statuses(course(**change)).items() if status == "broken"]
    assert broken == [gate]


@pytest.mark.parametrize(
    "change",
    [
        {"ends": {"hXT": 1}, "requests": 1000},
        {"tokens_per_request": 19.95},
        {"in_flight": 7.5},
        {"in_flight": None},
        {"steadiness": Steadiness(3, "steady", 0.0)},
    ],
)
def test_small_deviations_break_nothing(change: dict[str, Any]) -> None:
    """One failure in a thousand, 0.25 % of tokens and 6 % of the loop are within the gates."""
    assert "broken" not in statuses(course(**change)).values()


def test_most_restarts_have_to_be_unsteady_to_spoil_a_cell() -> None:
    """One unsteady restart of two is a doubt, both are a broken gate, none keeps it."""
    drifting, steady = Steadiness(0, "drifting", -0.05), Steadiness(0, "steady", 0.0)
    for old, new, status in (
        (steady, steady, "kept"),
        (steady, drifting, "doubtful"),
        (drifting, drifting, "broken"),
    ):
        found = course(steadiness=new)
        found.restarts[0] = replace(found.restarts[0], cells={8: replace(RUN, steadiness=old)})
        assert statuses(found)["steady-state"] == status


def test_a_cell_of_one_arm_has_no_tokens_to_compare() -> None:
    """Before the second arm ran, the token gate says that it cannot tell."""
    found = course()
    del found.restarts[1]
    assert statuses(found)["tokens"] == "not_examined"
    found.restarts[0] = replace(found.restarts[0], cells={})
    assert statuses(found) == {"errors": "not_examined"}


def seen(*values: str | None) -> tuple[Event, ...]:
    """A `setting` event: a launcher without the setting, then a process for each value."""
    processes: list[Any] = [{"pid": 1, "value": None, "launcher": True}]
    processes += [{"pid": 2 + at, "value": value} for at, value in enumerate(values)]
    return (Event("setting", 1, "setting", {"service": "s", "processes": processes}),)


def environment(events: tuple[Event, ...], arm: str = "new", **knob: Any) -> Gate:
    """The gate after one restart of an arm."""
    restart = Restart(block=1, place=1, arm=arm, setting=events)
    return environment_gate(Course(restarts=[restart]), setup(**knob))


def test_every_worker_has_to_have_the_value() -> None:
    """One worker without the value, or with another, breaks the gate; none read breaks it too."""
    assert environment(seen("new", "new")).status == "kept"
    assert environment(seen("new", None)).status == "broken"
    assert environment(seen("new", "old")).status == "broken"
    assert environment(()).status == "broken"


def test_the_default_means_that_nothing_is_set() -> None:
    """Under the arm that is the default no process may have the setting."""
    assert environment(seen(None), arm="old", default="old").status == "kept"
    assert environment(seen("new"), arm="old", default="old").status == "broken"


def test_a_file_that_the_service_reads_itself_is_not_examined() -> None:
    """A setting in TOML does not show in any process."""
    assert environment((), form="toml").status == "not_examined"


def test_the_state_at_the_end_is_a_gate() -> None:
    """Not restored is broken; restored and never touched are kept."""
    assert restore_gate(Course(restored=False, restore_why="swap: no")).status == "broken"
    assert restore_gate(Course(restored=True)).why == "the original state is back"
    assert restore_gate(Course()).why == "the original state is in place"


def test_the_worst_of_the_instrument_is_shown() -> None:
    """The answer carries the highest share and lag of any cell; nothing when none was measured."""
    worst = instrument_of(course(cpu_share=0.5, lag_ms_p99=9.0, client_bound=True))
    assert (worst.client_bound, worst.cpu_share, worst.lag_ms_p99) == (True, 0.5, 9.0)
    assert instrument_of(Course()).client_bound is None
