"""Targets in a process of their own: they die, hang and chatter there, and the sweep goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exonerate.core.exactness import Property
from exonerate.errors import ExonerateError
from exonerate.kernels.prover.child import Child, worker
from exonerate.kernels.prover.prove import Sweep, prove

DIES = """
import os, signal
from exonerate.kernels.reference import attend as right
def attend(q, k, v, lengths, splits):
    print("a line on standard output")
    if splits > max(lengths):
        os.kill(os.getpid(), signal.SIGSEGV)
    return right(q, k, v, lengths, splits)
"""

HANGS = """
import time
from exonerate.kernels.reference import attend as right
def attend(q, k, v, lengths, splits):
    while splits > max(lengths):
        time.sleep(60)
    return right(q, k, v, lengths, splits)
"""

SPEAKS_LINES = """
import sys
import numpy as np
from exonerate.kernels.reference import attend
for line in sys.stdin:
    request, reply = line.split()
    with np.load(request) as given:
        arrays = [given[name] for name in ("q", "k", "v", "lengths")]
        out, lse = attend(*arrays, int(given["splits"]))
    np.savez(reply, out=out, lse=lse)
    print("ok", flush=True)
    {then}
"""


def _quiet(what: str, fraction: float | None) -> None:
    """Nobody watches."""


def _write(folder: Path, source: str) -> str:
    path = folder / "target.py"
    path.write_text(source)
    return str(path)


def test_a_crash_is_a_finding_with_its_signal(tmp_path: Path) -> None:
    """A segmentation fault is told with the signal and a saved input, and the sweep goes on."""
    child = worker(f"{_write(tmp_path, DIES)}:attend", limit_s=60)
    try:
        sweep = Sweep(
            target="dies",
            level="quick",
            dtypes=("fp32",),
            conditions=("plain", "empty-split", "offset", "lengths"),
            save_in=tmp_path / "found",
        )
        proof = prove(child, sweep, _quiet)
    finally:
        child.close()
    broken = [finding for finding in proof.findings if finding.broken]
    assert {finding.property for finding in broken} == {Property.ANSWERS}
    assert "SIGSEGV" in broken[0].what
    assert Path(broken[0].saved).exists()
    assert proof.trials[Property.ACCURATE] > 10


def test_a_hang_is_a_finding_and_the_sweep_ends(tmp_path: Path) -> None:
    """A call without an answer is ended at the limit; after three the rest is left out."""
    child = worker(f"{_write(tmp_path, HANGS)}:attend", limit_s=0.3)
    try:
        sweep = Sweep(target="hangs", level="quick", conditions=("plain", "empty-split", "offset"))
        proof = prove(child, sweep, _quiet)
    finally:
        child.close()
    hung = next(finding for finding in proof.findings if finding.property is Property.ANSWERS)
    assert hung.broken
    assert "no answer within 0.3 s" in hung.what
    assert any("did not answer 3 times" in item for item in proof.not_examined)


@pytest.mark.parametrize("then", ["pass", "break"], ids=["stays", "ends after each answer"])
def test_any_program_can_speak_lines_and_npz(tmp_path: Path, then: str) -> None:
    """A program that reads two paths a line is checked like a function, restarted if it ends."""
    script = _write(tmp_path, SPEAKS_LINES.replace("{then}", then))
    source = str(Path(__file__).parents[3] / "src")
    child = Child(
        [sys.executable, script],
        introduces=False,
        limit_s=60,
        environment={"PYTHONPATH": source},
    )
    try:
        conditions = ("zero-length",) if then == "break" else ("plain", "zero-length", "layout")
        sweep = Sweep(target="lines", level="quick", dtypes=("fp32",), conditions=conditions)
        proof = prove(child, sweep, _quiet)
    finally:
        child.close()
    assert not proof.broken
    assert proof.verdict(Property.ACCURATE) == "holds"
    assert any("memory layouts" in item for item in proof.not_examined)


def test_a_target_that_cannot_be_imported_is_the_operators_to_mend() -> None:
    """A wrong name says so at once, with what to write."""
    with pytest.raises(ExonerateError, match="cannot be used: ModuleNotFoundError") as error:
        worker("no_such_module_here:attend", limit_s=60)
    assert "module:function" in error.value.hint


def test_a_command_that_does_not_exist_is_the_operators_to_mend() -> None:
    """A program that cannot be started is named."""
    with pytest.raises(ExonerateError, match="cannot start"):
        Child(["./no-such-program"], introduces=False, limit_s=60)
