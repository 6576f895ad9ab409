"""Comparisons of trials that were recorded earlier, from the file to the contract's answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from exonerate.core.stats.comparison import Question
from exonerate.errors import ExonerateError
from exonerate.jobs.analyse_trials import TrialsRequest, analyse_trials

BASELINE = {48: 684.7, 64: 719.5, 80: 833.0, 96: 799.3}
CANDIDATE = {48: 680.6, 64: 811.7, 80: 842.7, 96: 844.6}


def csv_of(blocks: int, *, fixed_order: bool = False, slow_restarts: bool = False) -> bytes:
    """A CSV of the founding table with noise of .7 % and .5 %."""
    rng = np.random.default_rng(blocks)
    lines = ["block,order,arm,cell,value"]
    for block in range(1, blocks + 1):
        for place, (arm, level) in enumerate((("256", BASELINE), ("512", CANDIDATE)), start=1):
            order = place if fixed_order or block % 2 else 3 - place
            restart = rng.normal(0, 0.007) - 0.07 * (slow_restarts and block > blocks // 2)
            for cell, value in level.items():
                shown = value * np.exp(restart + rng.normal(0, 0.005))
                lines.append(f"{block},{order},{arm},{cell},{shown:.3f}")
    return "\n".join(lines).encode()


def analyse(content: bytes, **options: Any) -> Any:
    """The answer as a caller of `--json` reads it."""
    answer = analyse_trials(content, "t.csv", TrialsRequest(**options))
    return json.loads(json.dumps(answer, allow_nan=False))


def test_the_founding_case_as_an_experiment() -> None:
    """Five blocks give the contract's answer: better at C64 and C96, the dip and its cure."""
    answer = analyse(csv_of(5), question=Question(primary=(64, 80, 96), guards=(48,)))
    assert answer["schema"] == "exonerate.comparison/1"
    assert (answer["arms"], answer["blocks"]) == (["256", "512"], 5)
    assert answer["metric"] == "output_tokens_per_s"
    cells = {cell["cell"]: cell for cell in answer["cells"]}
    assert list(cells) == [48, 64, 80, 96]
    assert cells[64]["effect"] == pytest.approx(0.128, abs=0.01)
    assert cells[64]["ci"][0] < cells[64]["effect"] < cells[64]["ci"][1]
    assert (cells[64]["level"], cells[64]["verdict"]) == (0.95, "better")
    assert cells[96]["verdict"] == "better"
    assert answer["primary"]["cells"] == [64, 80, 96]
    assert answer["primary"]["verdict"] == "better"
    (dip, cured) = answer["anomalies"]
    assert (dip["arm"], dip["cells"], dip["verdict"], dip["removed_by"]) == (
        "256", [80, 96], "anomaly", "512",
    )  # fmt: skip
    assert cured["verdict"] == "excluded"
    assert answer["guards"][0]["cell"] == 48
    assert answer["instrument"] == {"client_bound": None, "cpu_share": None, "lag_ms_p99": None}
    assert any("rarer than 45 %" in item for item in answer["not_examined"])


def test_one_run_per_cell_decides_nothing() -> None:
    """The founding document itself: no interval, undecided everywhere, the dip suspected."""
    answer = analyse(csv_of(1))
    for endpoint in (*answer["cells"], answer["primary"]):
        assert (endpoint["ci"], endpoint["verdict"]) == (None, "undecided")
    assert [found["verdict"] for found in answer["anomalies"]] == ["suspected"]


def test_copied_restarts_are_not_flat() -> None:
    """Two blocks, or five, that repeat the same numbers are no proof of sameness."""
    for blocks in (2, 5):
        rows = [f"{b},{o},{arm},8,100" for b in range(blocks) for o, arm in ((1, "a"), (2, "b"))]
        content = "\n".join(["block,order,arm,cell,value", *rows]).encode()
        assert analyse(content)["primary"]["verdict"] == "undecided"


def test_a_fixed_order_is_doubted_aloud() -> None:
    """When the baseline always ran first, the answer warns and the gate says doubtful."""
    answer = analyse(csv_of(5, fixed_order=True))
    assert answer["gates"][0]["status"] == "doubtful"
    assert "ran first in 5 and 512 in 0 of 5 blocks" in answer["warnings"][0]
    assert analyse(csv_of(5))["gates"][0]["status"] == "kept"


def test_two_regimes_of_restarts_are_named() -> None:
    """Restarts 7 % apart in two groups raise a warning for each arm."""
    warnings = analyse(csv_of(6, slow_restarts=True))["warnings"]
    assert [warning[:20] for warning in warnings] == [
        "two regimes seen in ",
        "two regimes seen in ",
    ]


def test_a_missing_row_is_left_out_and_told() -> None:
    """A block without one of its rows counts one less in that cell, with a warning."""
    lines = csv_of(5).decode().splitlines()
    dropped = next(at for at, line in enumerate(lines) if line.startswith("2,1,512,80"))
    answer = analyse("\n".join(lines[:dropped] + lines[dropped + 1 :]).encode())
    assert {cell["cell"]: cell["n"] for cell in answer["cells"]} == {48: 5, 64: 5, 80: 4, 96: 5}
    assert answer["warnings"] == ["block 2 has no 512 at C80; the block is left out there"]


def test_an_unplanned_block_switches_to_the_e_process_and_says_so() -> None:
    """Six blocks where five were planned are judged by the e-process in every reason."""
    answer = analyse(csv_of(6), blocks_planned=5)
    assert answer["plan"] == "open"
    assert "e-process" in answer["primary"]["why"]
    assert "e-process" in answer["assumption"]
    assert analyse(csv_of(5), blocks_planned=5)["plan"] == "fixed"
    assert analyse(csv_of(5), looks=True)["plan"] == "looks"


@pytest.mark.parametrize("question", [Question(primary=(64, 7)), Question(guards=(7,))])
def test_a_cell_that_is_not_there_is_named(question: Question) -> None:
    """A primary band or guard outside the trials is refused with the cells that are there."""
    with pytest.raises(ExonerateError, match="names cell 7") as caught:
        analyse(csv_of(3), question=question)
    assert "48, 64, 80, 96" in caught.value.hint


def test_lower_is_better_turns_the_verdict_and_not_the_numbers() -> None:
    """The same file read as latencies has the same effect and the opposite verdict."""
    rates, times = analyse(csv_of(5)), analyse(csv_of(5), question=Question(lower_is_better=True))
    assert times["primary"]["effect"] == rates["primary"]["effect"]
    assert (rates["primary"]["verdict"], times["primary"]["verdict"]) == ("better", "worse")
