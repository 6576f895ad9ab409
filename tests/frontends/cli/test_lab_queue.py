"""Many runs: the time that they will take, and what happens when one breaks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import lab_queue
from exonerate.frontends.cli.lab_queue import Queue, Wanted, minutes
from exonerate.frontends.cli.lab_runs import Results
from exonerate.lab.durations import UNKNOWN_S, recorded_s
from exonerate.lab.scarce import scarce
from exonerate.lab.scenario import Template, find_template, read_template
from exonerate.report.lab import LabRun

BROKEN = """
id = "X9"
title = "its engine does not start"
[[part]]
name = "engine"
kind = "program"
role = "engine"
argv = ["sh", "-c", "echo no model >&2; exit 3"]
[expected]
outcome = "no_fault"
"""


def test_more_jobs_take_less_time_but_not_less_than_the_longest(tmp_path: Path) -> None:
    """Ten unknown scenarios at a time take as long as one."""
    path = tmp_path / "x9.toml"
    path.write_text(BROKEN)
    todo = [Wanted(read_template(path), seed) for seed in range(10)]
    assert Queue(todo, Results(None)).left_s() == 10 * UNKNOWN_S
    assert Queue(todo, Results(None), jobs=20).left_s() == UNKNOWN_S
    assert Queue([], Results(None)).left_s() == 0


def test_a_scenario_that_breaks_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    """Each is reported with what its part said, and progress tells how many are left."""
    path = tmp_path / "x9.toml"
    path.write_text(BROKEN)
    said: list[str] = []
    todo = [Wanted(read_template(path), seed) for seed in (1, 2)]
    queue = Queue(todo, Results(None), jobs=2, say=said.append)
    queue.play()
    assert [item.scenario for item in queue.not_run] == ["X9", "X9"]
    assert "no model" in queue.not_run[0].why
    assert "2 of 2, about 0 s left" in said[-1]


def test_real_engines_and_networks_go_one_at_a_time_and_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside one of each the others go on, and none of a scarce kind is left over at the end."""
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()
    begun: list[str] = []
    alone = threading.Lock()

    def play(template: Template, _seed: int, **_where: object) -> LabRun:
        kind = next(iter(scarce(template)), "other")
        with alone:
            begun.append(kind)
            under_way[kind] += 1
            most[kind] = max(most[kind], under_way[kind])
        time.sleep(0.02)
        with alone:
            under_way[kind] -= 1
        raise ExonerateError("played", "nothing to do")

    monkeypatch.setattr(lab_queue, "play_scenario", play)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    todo = [Wanted(find_template(name), seed) for name in ("P1", "S1", "P7") for seed in range(6)]
    queue = Queue(todo, Results(None), jobs=4, say=lambda _text: None)
    assert queue.left_s() >= 6 * max(recorded_s()[name] for name in ("S1", "P7"))
    queue.play()
    assert (most["computing"], most["networks"]) == (1, 1)
    assert most["other"] >= 2
    assert begun.count("other") == 6
    assert {"computing", "networks"} <= set(begun[:4])
    assert queue.left_s() == 0


def test_times_are_told_in_seconds_then_in_minutes() -> None:
    """A short wait in seconds, a long one in whole minutes that are kept."""
    assert (minutes(45.2), minutes(91), minutes(3600)) == ("46 s", "2 minutes", "60 minutes")
