"""`splitk check` from the command line: what is printed where, and the exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from tests.support.patience import PATIENCE_S, until

from exonerate.errors import ExonerateError
from exonerate.frontends.cli.main import cli
from exonerate.frontends.cli.splitk_check import check

WRONG = """
from exonerate.kernels.reference import attend as right
def attend(q, k, v, lengths, splits):
    out, lse = right(q, k, v, lengths, splits)
    return out * (1 + 0.01 * (splits == 2)), lse
"""


def _check(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(check, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, int)
    return result.return_value, result.stdout, result.stderr


def test_the_reference_keeps_its_promises(tmp_path: Path) -> None:
    """Exit status 0, the report on stdout, nothing saved."""
    status, out, _ = _check("numpy", "--level", "quick", "--save", str(tmp_path / "found"))
    assert status == 0
    assert out.startswith("numpy: every promise holds")
    assert "To quote in a change review" in out
    assert not (tmp_path / "found").exists()


def test_a_broken_promise_is_exit_status_1_and_can_be_replayed(tmp_path: Path) -> None:
    """JSON names the saved input; replaying it is 1 for the culprit and 0 for a mended one."""
    (tmp_path / "wrong.py").write_text(WRONG)
    target = f"{tmp_path / 'wrong.py'}:attend"
    arguments = ("--level", "quick", "--save", str(tmp_path / "found"), "--json")
    status, out, _ = _check(target, *arguments, "--first")
    assert status == 1
    document = orjson.loads(out)
    assert document["schema"] == "exonerate.splitk_check/1"
    assert document["outcome"] == "broken"
    (finding,) = [finding for finding in document["findings"] if finding["broken"]]
    assert (finding["property"], finding["splits"]) == ("accurate", 2)
    assert finding["input"]["batch"] == 1
    assert _check(target, "--replay", finding["saved"])[0] == 1
    assert _check("numpy", "--replay", finding["saved"])[0] == 0


@pytest.mark.parametrize("promise", ["speed", "split-invariant=0", "batch-invariant=2"])
def test_an_unknown_promise_is_the_operators_to_mend(promise: str) -> None:
    """Only what can be judged can be promised."""
    with pytest.raises(ExonerateError, match="--promise"):
        _check("numpy", "--promise", promise)


def test_split_invariance_can_be_promised_within_ulps(tmp_path: Path) -> None:
    """Bits move with the split count; a promise within some ulp is kept."""
    plain = ("numpy", "--condition", "plain")
    assert _check(*plain, "--promise", "split-invariant", "--save", str(tmp_path))[0] == 1
    assert _check(*plain, "--promise", "split-invariant=64")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--condition", "moonshine"), "`moonshine` is no condition"),
        (("--dtype", "bf16"), "takes none of bf16"),
        (("--replay", "nothing.npz"), "does not exist"),
    ],
)
def test_what_cannot_be_asked_is_the_operators_to_mend(
    arguments: tuple[str, str], problem: str
) -> None:
    """A name that is not there is answered with what there is."""
    with pytest.raises(ExonerateError, match=problem):
        _check("numpy", *arguments)


def test_a_proof_is_added_to_the_case_that_is_named(tmp_path: Path) -> None:
    """With `--case` the proof is evidence of that case; without, nothing is written."""
    ledger = ("--ledger", str(tmp_path / "ledger.db"))
    opened = CliRunner().invoke(cli, ["case", "open", "was it exact", *ledger])
    case = opened.stdout.split()[-1]
    sweep = ("splitk", "check", "numpy", "--level", "quick", "--condition", "plain")
    done = CliRunner().invoke(cli, [*sweep, "--case", case, *ledger], standalone_mode=False)
    assert done.return_value == 0
    assert "added measurement-" in done.stderr
    shown = CliRunner().invoke(cli, ["case", "show", "--case", case, *ledger])
    assert "splitk check numpy" in shown.stdout


SLEEPS = """
import os, time
from pathlib import Path
def attend(q, k, v, lengths, splits):
    Path(os.environ["SEEN"]).write_text(str(os.getpid()))
    time.sleep(60)
"""


def test_an_interrupt_ends_the_target_too(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a call leaves with 130 and leaves no process behind."""
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    seen = tmp_path / "seen"
    command = [sys.executable, "-m", "exonerate", "splitk", "check", "sleeps.py:attend"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "SEEN": str(seen)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    worker = int(until(lambda: seen.exists() and seen.read_text(), "the target's process"))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert out == b""
    until(lambda: not Path(f"/proc/{worker}").exists(), "the end of the target's process")
