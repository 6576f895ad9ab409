"""Calls and answers survive the way through files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exonerate.errors import ExonerateError
from exonerate.kernels.attention_input import AttentionInput
from exonerate.kernels.prover import exchange, saved
from exonerate.kernels.prover.catalogue import entries, trials_of
from exonerate.kernels.prover.runner import Answer, Call, Status


def _given(dtype: str) -> AttentionInput:
    trial = next(trials_of(entries("quick", ["plain"])[0], dtype, seed=1))
    return replace(trial.given, layout="padded", softcap=3.0, page_size=4)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_a_call_comes_back_as_it_went(tmp_path: Path, dtype: str) -> None:
    """Arrays, lengths and every option are the same; past the lengths there is poison."""
    call = Call(given=_given(dtype), splits=3, kv_poison=float("inf"), with_out=False)
    exchange.write_call(tmp_path / "call.npz", call)
    again = exchange.read_call(tmp_path / "call.npz")
    assert np.array_equal(again.given.q, call.given.q)
    assert np.array_equal(again.given.k[0, :37], call.given.k[0, :37])
    assert np.all(again.given.k[0, 37:] == np.inf)
    assert (again.splits, again.with_out, again.kv_poison) == (3, False, float("inf"))
    assert (again.given.dtype, again.given.layout) == (dtype, "padded")
    assert (again.given.softcap, again.given.page_size) == (3.0, 4)


def test_an_answer_comes_back_as_it_went(tmp_path: Path) -> None:
    """What the worker saw crosses with what the target answered."""
    answer = Answer(
        status=Status.ANSWERED,
        out=np.ones((1, 2, 3), np.float32),
        outside="`q` was changed",
        out_dtype="fp16",
    )
    exchange.write_answer(tmp_path / "answer.npz", answer)
    again = exchange.read_answer(tmp_path / "answer.npz", _given("fp32"))
    assert again.out is not None
    assert np.array_equal(again.out, np.ones((1, 2, 3)))
    assert (again.status, again.outside, again.out_dtype) == (
        Status.ANSWERED,
        "`q` was changed",
        "fp16",
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "cannot be read"), (b"not an archive", "cannot be read"), ("lse", "`out` is missing")],
)
def test_a_bad_answer_file_is_an_observation(
    tmp_path: Path, content: bytes | str | None, problem: str
) -> None:
    """A missing, broken or incomplete file is told, not raised."""
    path = tmp_path / "answer.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.savez(path, lse=np.zeros(3))
    answer = exchange.read_answer(path, _given("fp32"))
    assert answer.status is Status.MALFORMED
    assert problem in answer.message


def test_a_saved_trial_is_loaded_whole(tmp_path: Path) -> None:
    """The file of a failing input holds the question as well as the arrays."""
    for trial in (t for entry in entries("quick") for t in trials_of(entry, "bf16", seed=2)):
        saved.save(tmp_path / "trial.npz", trial, what="why")
        again = saved.load(tmp_path / "trial.npz")
        assert np.array_equal(again.given.v, trial.given.v, equal_nan=True)
        assert (again.condition, again.splits) == (trial.condition, trial.splits)
        assert (again.checks, again.exact_scores) == (trial.checks, trial.exact_scores)
        assert (again.before is None) == (trial.before is None)


def test_a_file_that_is_no_saved_input_is_refused(tmp_path: Path) -> None:
    """A missing file and a file of another kind are told apart."""
    with pytest.raises(ExonerateError, match="does not exist"):
        saved.load(tmp_path / "nothing.npz")
    other = tmp_path / "other.npz"
    np.savez(other, q=np.zeros(3))
    with pytest.raises(ExonerateError, match="is no saved input"):
        saved.load(other)
