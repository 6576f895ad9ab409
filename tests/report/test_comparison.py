"""A comparison as text for people."""

from __future__ import annotations

from typing import Any

import pytest

from exonerate.jobs.analyse_trials import TrialsRequest, analyse_trials
from exonerate.report.comparison import comparison_markdown, comparison_text, headline

TRIALS = """block,order,arm,cell,value
1,1,a|b,8,100
1,2,new,8,110
2,2,a|b,8,101
2,1,new,8,111.3
3,1,a|b,8,99
3,2,new,8,108.6
1,1,a|b,64,700
1,2,new,64,690
2,2,a|b,64,760
2,1,new,64,720
3,1,a|b,64,650
3,2,new,64,705
"""


@pytest.fixture
def answer() -> Any:
    """A comparison with one better and one undecided cell."""
    return analyse_trials(TRIALS.encode(), "t.csv", TrialsRequest())


def test_the_terminal_table_shows_estimate_interval_and_n(answer: Any) -> None:
    """Every row has both values, the change, the interval, n and the verdict."""
    lines = comparison_text(answer).splitlines()
    assert lines[0] == (
        "new against a|b (baseline): output_tokens_per_s, higher is better; 3 blocks, margin 2 %"
    )
    assert lines[2].split() == [
        "cell", "a|b", "new", "change", "95", "%", "interval", "n", "verdict", "blocks", "needed",
    ]  # fmt: skip
    assert lines[3].split() == [
        "C8", "100.0", "110.0", "+10.0", "%", "[+9.1,", "+10.9]", "%", "3", "better",
    ]  # fmt: skip
    assert lines[4].split()[-3:] == ["3", "~", "undecided"]


def test_the_reader_learns_what_was_assumed_and_not_examined(answer: Any) -> None:
    """Assumption, unexamined gates and the blind spot of three restarts stand below the table."""
    text = comparison_text(answer, width=1000)
    assert "assumed: block differences of logarithms" in text
    assert "not examined: the gates errors, tokens, environment" in text
    assert "rarer than 63 %" in text
    assert "instrument: not seen" in text


def test_markdown_cells_cannot_break_the_table(answer: Any) -> None:
    """A pipe in the name of an arm is escaped, and every row has as many cells as the header."""
    rows = [line for line in comparison_markdown(answer).splitlines() if line.startswith("|")]
    assert "a\\|b" in rows[0]
    assert {line.replace("\\|", "").count("|") for line in rows} == {9}


def test_the_headline_is_one_line(answer: Any) -> None:
    """The primary result fits a list of verdicts."""
    assert headline(answer).startswith("new against a|b: ~ undecided, +")
    assert headline(answer).endswith("over C8, C64, n = 3")


def test_guards_gates_and_the_instrument_are_shown(answer: Any) -> None:
    """A broken gate, an uncleared guard and a busy client each have a line."""
    seen = {
        **answer,
        "guards": [
            {"cell": 8, "bound": -0.03, "margin": 0.02, "verdict": "regression not excluded"},
        ],
        "gates": [{"gate": "errors", "status": "broken", "cell": 8, "why": "1 of 8 failed"}],
        "instrument": {"client_bound": True, "cpu_share": 0.97, "lag_ms_p99": 12.0},
        "anomalies": [
            {"arm": "a", "cells": [8, 64], "drop": 0.04, "verdict": "anomaly", "removed_by": "b"}
        ],
    }
    text = comparison_text(seen, width=1000)
    assert "guard C8: regression not excluded (bound −3.0 %, margin 2 %)" in text
    assert "gate errors broken at C8: 1 of 8 failed" in text
    assert "the client was the limit (CPU 97 %, p99 lag 12.0 ms)" in text
    assert "scaling, a: C64 lies 4.0 % below C8: anomaly; removed by b" in text


def test_the_noise_of_an_aa_is_said(answer: Any) -> None:
    """Restart noise, its parts, the second place and the drift stand in one line."""
    noise = {
        "cell_value_sd": 0.01, "restart_sd": 0.008, "within_sd": 0.006, "blocks": 5,
        "position_effect": -0.002, "drift_per_block": -0.001, "enough": False,
    }  # fmt: skip
    text = comparison_text({**answer, "noise": noise}, width=1000)
    assert "varies by 1 % from restart to restart (0.8 % of the restart, 0.6 % within)" in text
    assert "the second place costs +0.2 %, drift −0.1 % a block; only 5 blocks" in text


def test_long_notes_are_wrapped(answer: Any) -> None:
    """No note is wider than the terminal, and what follows is indented."""
    table, notes = comparison_text(answer, width=80).split("\n\n")[1:3]
    assert all(len(line) <= 80 for line in notes.splitlines())
    assert any(line.startswith("    ") for line in notes.splitlines())
    assert len(table.splitlines()) == 4
