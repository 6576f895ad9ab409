"""Many runs: the time that they will take, and what happens when one breaks."""

from __future__ import annotations

from pathlib import Path

from exonerate.frontends.cli.lab_queue import Queue, Wanted, minutes
from exonerate.frontends.cli.lab_runs import Results
from exonerate.lab.durations import UNKNOWN_S
from exonerate.lab.scenario import read_template

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


def test_times_are_told_in_seconds_then_in_minutes() -> None:
    """A short wait in seconds, a long one in whole minutes that are kept."""
    assert (minutes(45.2), minutes(91), minutes(3600)) == ("46 s", "2 minutes", "60 minutes")
