"""The contract `exonerate.comparison/1`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from exonerate.core.experiment.answer import Instrument, Surroundings, comparison_answer
from exonerate.core.experiment.gate import Gate
from exonerate.core.stats.comparison import Question, compare
from exonerate.core.stats.trials import Trial, tabulate


def answer(**surroundings: Any) -> Any:
    """An answer over two cells and three blocks, through JSON and back."""
    rng = np.random.default_rng(0)
    rows = [
        Trial(block=str(b), order=o, arm=arm, cell=cell, value=float(level * rng.normal(1, 0.01)))
        for b in range(3)
        for o, arm, level in ((1, "a", 100.0), (2, "b", 110.0))
        for cell in (8, 2.5)
    ]
    question = Question(guards=(8,))
    comparison = compare(tabulate(rows, ("a", "b")), question)
    made = comparison_answer(comparison, question, Surroundings(metric="m", **surroundings))
    return json.loads(json.dumps(made, allow_nan=False))


def test_every_key_of_the_contract_is_there() -> None:
    """The names that others read, with fractions and lists."""
    found = answer()
    assert found["schema"] == "exonerate.comparison/1"
    assert set(found) >= {
        "schema", "arms", "blocks", "metric", "cells", "primary", "anomalies", "guards", "gates",
        "instrument",
    }  # fmt: skip
    for cell in found["cells"]:
        assert set(cell) >= {
            "cell", "baseline", "candidate", "effect", "ci", "level", "verdict", "why",
        }  # fmt: skip
        assert len(cell["ci"]) == 2
    assert [cell["cell"] for cell in found["cells"]] == [2.5, 8]
    assert set(found["primary"]) >= {"cells", "effect", "ci", "verdict"}
    assert set(found["instrument"]) == {"client_bound", "cpu_share", "lag_ms_p99"}


def test_doubtful_gates_become_warnings() -> None:
    """A doubt is a field of the answer, in the gates and among the warnings."""
    found = answer(
        gates=(Gate("order", "doubtful", "always first"),),
        warnings=("two regimes",),
        instrument=Instrument(client_bound=False, cpu_share=0.1, lag_ms_p99=1.0),
    )
    assert found["warnings"] == ["always first", "two regimes"]
    assert found["gates"] == [
        {"gate": "order", "status": "doubtful", "cell": None, "why": "always first"}
    ]
    assert found["instrument"]["client_bound"] is False


def test_the_assumption_is_said() -> None:
    """The sentence names the distribution, the correction and the margin."""
    assert "Student's t" in answer()["assumption"]
    assert "2 cells share the error (Bonferroni)" in answer()["assumption"]
    assert "within ±2 %" in answer()["assumption"]
