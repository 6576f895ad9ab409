"""`exonerate lab run` and `lab report` as a user runs them, on a real path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exonerate.errors import ExonerateError
from exonerate.frontends.cli import exit_status
from exonerate.frontends.cli.main import cli

QUICK = """
id = "X1"
title = "an engine leaks a token of the template"
symptom = "corrupted"
budget_s = 120
[[part]]
name = "engine"
kind = "scripted"
settings = { token_s = 0.001, answer_tokens = 8, fault = [{ do = "special-token" }] }
[victim]
rounds = 2
think_s = 0.01
prompt_tokens = 20
growth_tokens = 5
max_tokens = 8
deadline_s = 20
[expected]
outcome = "fault"
[[expected.fault]]
layer = "engine"
class = "template-leak"
hops = ["engine"]
"""
LACKING = QUICK.replace("title =", 'needs = ["no-such-program"]\ntitle =').replace("X1", "X2")


def lab(*words: str | Path) -> int:
    """Exit status of `exonerate lab` with these words."""
    status = cli.main(["lab", *map(str, words)], standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_a_scenario_is_played_once_and_then_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time it is read from the results; the verdict and the matrix are kept."""
    (tmp_path / "x1.toml").write_text(QUICK)
    results = ("--results", tmp_path / "lab.jsonl", "--verdicts", tmp_path / "verdicts")
    page = ("--html", tmp_path / "lab.html", "--markdown", tmp_path / "lab.md")
    assert lab("run", tmp_path / "x1.toml", *results, *page, "--json") == exit_status.DONE
    first = capsys.readouterr()
    assert "1 runs to play" in first.err
    answer = json.loads(first.out)
    assert answer["summary"]["points"] == 1
    assert answer["confusion"] == {"template-leak": {"template-leak@engine": 1}}
    assert json.loads((tmp_path / "verdicts" / "X1-1.json").read_text())["outcome"] == "fault"
    assert "template-leak" in (tmp_path / "lab.html").read_text()
    assert "| X1 | 1 |" in (tmp_path / "lab.md").read_text()
    assert lab("run", tmp_path / "x1.toml", *results) == exit_status.DONE
    assert "0 runs to play, about 0 s, 1 are done already" in capsys.readouterr().err
    assert lab("report", tmp_path / "lab.jsonl", "--json") == exit_status.DONE
    assert json.loads(capsys.readouterr().out)["runs"][0]["stale"] is False


def test_a_missing_part_is_said_and_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is left out in silence: the operator is asked to do something."""
    (tmp_path / "x2.toml").write_text(LACKING)
    assert lab("run", tmp_path / "x2.toml") == exit_status.OPERATOR
    said = capsys.readouterr().out
    assert "not run: X2: needs no-such-program" in said
    assert "install `no-such-program` and put it on PATH" in said


def test_a_false_accusation_fails_the_report(tmp_path: Path) -> None:
    """Status 1, whatever else went well."""
    row = {
        "scenario": "S1", "seed": 1, "version": "0", "expected": "no_fault", "explanation": None,
        "got": "x@edge", "points": -3.0, "false_accusation": True, "right_layer": False,
        "right_class": False, "why": "", "elapsed_s": 1.0, "timers_s": 0.0,
    }  # fmt: skip
    (tmp_path / "lab.jsonl").write_text(json.dumps(row) + "\n")
    assert lab("report", tmp_path / "lab.jsonl") == exit_status.FINDING


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A page that cannot be written says so."""
    (tmp_path / "lab.jsonl").write_text("")
    with pytest.raises(ExonerateError, match="cannot be written"):
        lab("report", tmp_path / "lab.jsonl", "--html", tmp_path / "no" / "lab.html")
