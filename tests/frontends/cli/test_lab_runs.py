"""Results of the lab on disk: what counts as done, and what a kill leaves."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.lab_runs import LabRun, Results, read_results
from exonerate.lab.provenance import file_digest, provenance
from exonerate.lab.scenario import Template, builtin_scenarios

S1 = next(template for template in builtin_scenarios() if template.id == "S1")


def run(template: Template = S1, **more: Any) -> LabRun:
    """A run of today's code."""
    plain: dict[str, Any] = {
        "scenario": template.id, "seed": 1, "version": "0.1.0", "expected": "drops-requests",
        "explanation": None, "got": "drops-requests@edge", "points": 1.0,
        "false_accusation": False, "right_layer": True, "right_class": True, "why": "",
        "elapsed_s": 30.0, "timers_s": 0.0, "code": provenance().code,
        "file": file_digest(template.path),
    }  # fmt: skip
    return LabRun(**{**plain, **more})


def test_what_was_kept_is_done(tmp_path: Path) -> None:
    """A run that was added is found by the next process, for its seed only."""
    path = tmp_path / "lab.jsonl"
    Results(path).add(run())
    again = Results(path)
    assert again.find(S1, 1) == run()
    assert again.find(S1, 2) is None


def test_runs_of_other_code_or_another_file_are_not_done(tmp_path: Path) -> None:
    """They count only where stale ones are asked for."""
    kept = Results(tmp_path / "lab.jsonl")
    kept.add(run(code="older"))
    kept.add(run(seed=2, file="older"))
    assert kept.find(S1, 1) is None
    assert kept.find(S1, 2) is None
    assert kept.find(S1, 1, stale=True) == run(code="older")


def test_a_line_that_a_kill_cut_short_is_played_again(tmp_path: Path) -> None:
    """The last line may be half; a broken one before it is not ours."""
    path = tmp_path / "lab.jsonl"
    whole = json.dumps(asdict(run()))
    path.write_text(f"{whole}\n{whole[:40]}")
    assert read_results(path) == [run()]
    path.write_text(f"{whole[:40]}\n{whole}\n")
    with pytest.raises(ExonerateError, match=r"lab\.jsonl:1 is no run"):
        read_results(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """An operator is told which file."""
    with pytest.raises(ExonerateError, match=r"nothing\.jsonl"):
        read_results(tmp_path / "nothing.jsonl")
