"""The report of a proof as an operator reads it."""

from __future__ import annotations

from exonerate.core.exactness import PROMISED_BY_DEFAULT, Finding, Proof, Property
from exonerate.report.splitk_check import text

BROKEN = Proof(
    target="engine:attend",
    level="quick",
    seed=0,
    promised=PROMISED_BY_DEFAULT,
    trials={Property.SAME_CLASS: 9, Property.SPLIT_INVARIANT: 3},
    violated={Property.SAME_CLASS: 2, Property.SPLIT_INVARIANT: 3},
    findings=(
        Finding(
            property=Property.SAME_CLASS,
            condition="masked-split",
            broken=True,
            dtype="fp32",
            splits=2,
            what="finite at one split, NaN here",
            shape={"batch": 1, "tokens": 2, "layout": "padded"},
            saved="found/one.npz",
        ),
    ),
    error_by_splits=(),
    conventions={"lse_of_no_tokens": ["+inf"]},
    not_examined=("far: its arrays cross as files",),
    dtypes=("fp32",),
    partial_dtype="fp32",
    calls=17,
    elapsed_s=0.5,
    versions={"numpy": "2.4.6"},
)


def test_a_broken_promise_is_shown_with_its_replay() -> None:
    """The finding, its input and the command that shows it again stand together."""
    said = text(BROKEN)
    assert said.startswith("engine:attend: a promise is broken\n  fp32; sweep quick, seed 0")
    assert "BROKEN same_class [masked-split] fp32, 2 splits: finite at one split, NaN here" in said
    assert "batch 1, tokens 2, padded" in said
    assert "exonerate splitk check engine:attend --replay found/one.npz" in said


def test_an_unpromised_property_is_answered_without_blame() -> None:
    """Split invariance that nobody promised is `no`, not `broken`."""
    line = next(line for line in text(BROKEN).splitlines() if "split_invariant" in line)
    assert line.split()[:3] == ["-", "split_invariant", "no"]


def test_what_was_not_examined_is_said() -> None:
    """Nothing that the sweep could not reach passes in silence."""
    said = text(BROKEN)
    assert "Not examined\n  far: its arrays cross as files" in said
    assert "promised answers               not examined" in said
