"""`exonerate read` as an operator runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.case import case
from exonerate.frontends.cli.read import read

DATA = Path(__file__).parents[2] / "data" / "documents"
FOUNDING = str(DATA / "DSV4_DECODE_PERF_PLAN.md")


def run(*arguments: str) -> Result:
    """The command with those arguments."""
    return CliRunner().invoke(read, arguments, standalone_mode=False)


def test_the_report_shows_the_table_and_its_grade() -> None:
    """A reader sees arms, recomputed gains, the dip, the grade and why, without colour codes."""
    result = run(FOUNDING)
    assert result.return_value == 0
    for text in ("256 → 512", "+12.8 %", "grade D", "n = 1 per cell", "suspected dip", "0% leak"):
        assert text in result.stdout
    assert "\x1b" not in result.stdout


def test_json_is_the_answer_alone() -> None:
    """With --json stdout is the contract and nothing else."""
    answer = json.loads(run(FOUNDING, "--json").stdout)
    assert answer["schema"] == "exonerate.reading/1"
    assert answer["sources"][0]["comparisons"][0]["cells"][1]["stated_gain"] == 0.128


def test_arms_from_files() -> None:
    """Two result files called arms give a comparison with a computed gain."""
    arms = ("--arm", f"a={DATA / 'sglang.jsonl'}", "--arm", f"b={DATA / 'vllm.json'}")
    with pytest.raises(ExonerateError, match="different tools"):
        CliRunner().invoke(read, arms, standalone_mode=False, catch_exceptions=False)
    assert "a → b" in run(*arms, "--across-tools").stdout


def test_the_decimal_mark_can_be_told(tmp_path: Path) -> None:
    """Decimal commas give a warning, and numbers once the operator says what a comma is."""
    path = tmp_path / "plan.md"
    path.write_text("tokens/s\n\n| C | 256 | 512 |\n|---|---|---|\n| 64 | 719,5 | 811,7 |\n")
    assert "--decimal comma" in " ".join(run(str(path)).stdout.split())
    assert "+12.8 %" in run(str(path), "--decimal", "comma").stdout


def test_untrusted_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Escape sequences in a document are not passed on to the terminal."""
    path = tmp_path / "plan.md"
    path.write_text(
        "H100, 0% leak \x1b[2Jgone.\n\n| C | a\x1b]0;x\x07 | b |\n|--|--|--|\n| 8 | 1 | 2 |\n"
    )
    assert "\x1b" not in run(str(path)).stdout


def test_a_named_case_gets_the_evidence_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --case the reading becomes evidence; without it no ledger is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXONERATE_LEDGER", raising=False)
    run(FOUNDING)
    assert list(tmp_path.iterdir()) == []
    identity = CliRunner().invoke(case, ["open", "hangs"], standalone_mode=False).stdout.strip()
    assert "added document-" in run(FOUNDING, "--case", identity).stderr
    assert "holds this already" in run(FOUNDING, "--case", identity).stderr
    shown = CliRunner().invoke(case, ["show", "--json"], standalone_mode=False).stdout
    assert len(json.loads(shown)["evidence"]) == 1


def test_a_missing_file_leaves_with_two() -> None:
    """The program says which file is missing on stderr and leaves with 2."""
    done = subprocess.run(
        [sys.executable, "-m", "exonerate", "read", "/nowhere/plan.md"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "`/nowhere/plan.md` does not exist" in done.stderr
    assert "hint: " in done.stderr
