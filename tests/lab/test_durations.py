"""How long the lab will take, said beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exonerate.lab.durations import UNKNOWN_S, estimate_s, main, medians, recorded_s


def test_own_times_come_before_recorded_ones() -> None:
    """This host's own median, else the recorded one, else a middling guess."""
    recorded = {"S1": 30.0}
    assert estimate_s("S1", [9.0, 11.0, 100.0], recorded) == 11.0
    assert estimate_s("S1", [], recorded) == 30.0
    assert estimate_s("S2", [], recorded) == UNKNOWN_S


def test_medians_leave_untimed_rows_out() -> None:
    """Rows of older versions have no wall time."""
    rows: list[dict[str, object]] = [
        {"scenario": "S1", "wall_s": 4},
        {"scenario": "S1", "wall_s": 6},
        {"scenario": "S2"},
    ]
    assert medians(rows) == {"S1": 5.0}


def test_results_become_the_recorded_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """New medians are laid over those that are there."""
    path = tmp_path / "lab.jsonl"
    path.write_text(json.dumps({"scenario": "S1", "wall_s": 12.3}) + "\n")
    assert main([str(path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["S1"] == 12.3
    assert set(recorded_s()) <= set(made)
