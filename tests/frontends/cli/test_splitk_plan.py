"""`exonerate splitk plan` as an operator runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.splitk_plan import plan

GOLDEN = Path(__file__).parents[2] / "data" / "splitk" / "founding_plan.txt"


def run(*arguments: str) -> Result:
    """The command with those arguments."""
    return CliRunner().invoke(plan, arguments, standalone_mode=False)


def test_the_founding_plan_reads_like_this() -> None:
    """The whole report, to the letter."""
    result = run("--gpu", "RTX PRO 6000", "--units", "2")
    assert result.return_value == 0
    assert result.stdout == GOLDEN.read_text()
    assert result.stderr == ""


def test_json_is_the_answer_alone() -> None:
    """With --json stdout is the contract and nothing else."""
    answer = json.loads(run("--json", "--heads", "32,1,16", "--rounding", "floor").stdout)
    assert answer["schema"] == "exonerate.waves/1"
    assert (answer["units"], answer["rule"]["name"]) == (2, "target_ctas:floor")
    assert answer["gpu"]["assumed"] is True


def test_a_plot_is_written_and_named(tmp_path: Path) -> None:
    """Beside the report, said on stderr."""
    path = tmp_path / "waves.svg"
    result = run("--plot", str(path))
    assert path.read_bytes().startswith(b"<?xml")
    assert result.stderr == f"plot: {path}\n"


def test_rules_are_listed() -> None:
    """With what the target stands for in each."""
    assert "flashinfer_chunk" in run("--rules").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "0"], "target is 0"),
        (["--target", "-256"], "target is -256"),
        (["--target", "999999999999"], "target is 999999999999"),
        (["--gpu", "RTX PRO 7000"], "not in the table"),
        (["--rule", "flashmla", "--rounding", "ceil"], "no rounding"),
        (["--rule", "flash"], "no rule"),
        (["--units", "2", "--heads", "32,1,16"], "twice"),
        (["--units", "0"], "units per request is 0"),
        (["--lengths", "nan"], "cannot be used"),
        (["--saturating", "nan"], "cannot saturate"),
        (["--plot", "waves.pdf"], "neither SVG nor PNG"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: list[str], said: str) -> None:
    """A problem and a hint, never a traceback."""
    with pytest.raises(ExonerateError, match=said) as refused:
        CliRunner().invoke(plan, arguments, standalone_mode=False, catch_exceptions=False)
    assert refused.value.hint
