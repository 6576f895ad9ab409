"""Throughput tables from CSV and from readings."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.waves.table import parse_csv, parse_reading, table_of, target_of_arm
from exonerate.errors import ExonerateError

CSV = "concurrency,target,value\n48,256,684.7\n64,256,719.5\n80,256,833\n48,512,680.6\n64,512,811\n"


def reading(*comparisons: object, schema: str = "exonerate.reading/1") -> str:
    """What `read --json` prints, as far as a fit needs it."""
    return json.dumps({"schema": schema, "sources": [{"comparisons": list(comparisons)}]})


def comparison(line: int = 9, arms: tuple[str, str] = ("256", "512")) -> dict[str, object]:
    """Three cells of two arms."""
    rows = [(48, 684.7, 680.6), (64, 719.5, 811.7), (80, 833.0, 842.7)]
    cells = [{"cell": c, "values": dict(zip(arms, (a, b), strict=True))} for c, a, b in rows]
    return {"line": line, "arms": list(arms), "cells": cells}


def test_a_csv_gives_its_cells_by_target_and_concurrency() -> None:
    """The order of the rows does not matter."""
    table = parse_csv(CSV)
    assert table.targets == (256, 512)
    assert table.concurrencies == (48, 64, 80)
    assert table.cells[0].value == pytest.approx(684.7)


def test_repeated_rows_are_repeats_of_one_cell() -> None:
    """Averaged as ratios, and counted."""
    table = parse_csv(CSV + "48,256,700\n")
    assert table.cells[0].value == pytest.approx(math.sqrt(684.7 * 700))
    assert (table.cells[0].repeats, table.repeats_min) == (2, 1)


def test_columns_may_stand_in_any_order_with_others_beside() -> None:
    """Spreadsheets add columns."""
    text = "Value,note,Target,Concurrency\n" + "".join(
        f"{700 + c},x,256,{c}\n" for c in (8, 16, 32, 48, 64)
    )
    assert parse_csv(text).concurrencies == (8, 16, 32, 48, 64)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "columns are nothing"),
        ("a,b\n1,2\n", "columns are `a`, `b`"),
        ("concurrency,target,value,value\n", "columns are"),
        ("concurrency,target,value\n" + 140_000 * "9", "not CSV"),
        ("concurrency,target,value\n", "0 cells"),
        ("concurrency,target,value\n48,256,684.7\n", "1 cell over 1 concurrency"),
        (CSV + "96,256,nan\n", "is nan"),
        (CSV + "96,256,inf\n", "is inf"),
        (CSV + "96,256,0\n", "is 0.0"),
        (CSV + "96,256,1e300\n", "is 1e+300"),
        (CSV + "96,256,-3\n", "is -3.0"),
        (CSV + "96,256,fast\n", "line 7: value is `fast`"),
        (CSV + "96,baseline,700\n", "line 7: target is `baseline`"),
        (CSV + "96,256\n", "line 7: value is ``"),
        (CSV + "96,0,700\n", "target is 0"),
        (CSV + "96,-256,700\n", "target is -256"),
        (CSV + "96,99999999999,700\n", "target is 99999999999"),
        (CSV + "0,256,700\n", "concurrency is 0"),
    ],
)
def test_a_table_that_cannot_be_fitted_is_refused_in_words(text: str, said: str) -> None:
    """Where it is and what is wrong."""
    with pytest.raises(ExonerateError) as refused:
        parse_csv(text)
    assert said in refused.value.problem
    assert refused.value.hint


@given(st.text(max_size=200))
def test_no_text_crashes_the_csv_reader(text: str) -> None:
    """A table or a refusal."""
    with pytest.raises(ExonerateError):
        parse_csv(text)


@given(st.text(max_size=80).map(lambda text: '{"schema": "exonerate.reading/1"' + text))
def test_no_text_crashes_the_reading_reader(text: str) -> None:
    """A table or a refusal."""
    with pytest.raises(ExonerateError):
        parse_reading(text, arms={}, comparison=None)


def test_a_reading_gives_its_only_comparison() -> None:
    """Arms that are numbers are targets."""
    table = parse_reading(reading(comparison()), arms={}, comparison=None)
    assert [(c.concurrency, c.target) for c in table.cells] == [
        (48, 256),
        (64, 256),
        (80, 256),
        (48, 512),
        (64, 512),
        (80, 512),
    ]


def test_a_pasted_copy_is_not_a_second_table() -> None:
    """The same cells at another line."""
    text = reading(comparison(9), comparison(20))
    assert len(parse_reading(text, arms={}, comparison=None).cells) == 6


def test_a_choice_is_asked_for_where_there_are_several_tables() -> None:
    """And taken where it is given."""
    other = comparison(30)
    other["cells"] = [{"cell": c, "values": {"1": 5.0 + c}} for c in (1, 2, 3, 4, 5)]
    text = reading(comparison(9), other)
    with pytest.raises(ExonerateError, match="at lines 9, 30"):
        parse_reading(text, arms={}, comparison=None)
    assert len(parse_reading(text, arms={}, comparison=2).cells) == 5
    with pytest.raises(ExonerateError, match="no comparison 3"):
        parse_reading(text, arms={}, comparison=3)


def test_arms_with_names_need_their_targets() -> None:
    """`baseline` says nothing about a target; the operator can."""
    text = reading(comparison(arms=("baseline", "512")))
    with pytest.raises(ExonerateError) as refused:
        parse_reading(text, arms={}, comparison=None)
    assert "--arm 'baseline=256'" in refused.value.hint
    assert parse_reading(text, arms={"baseline": 256}, comparison=None).targets == (256, 512)
    assert target_of_arm(" 256 ", {}) == 256


def test_a_missing_value_is_a_missing_cell() -> None:
    """A cell that one arm did not measure."""
    partial = comparison()
    partial["cells"] = [*partial["cells"], {"cell": 96, "values": {"256": 799.3, "512": None}}]  # type: ignore[misc]  # a plain dictionary
    table = parse_reading(reading(partial), arms={}, comparison=None)
    assert len(table.cells) == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        (reading(comparison(), schema="exonerate.debt/1"), "does not say schema"),
        (reading(), "no comparison"),
        (
            '{"schema": "exonerate.reading/1", "sources": [3, {"comparisons": [4]}]}',
            "no comparison",
        ),
        (reading({"cells": [{"cell": 48}]}), "without `values`"),
        (reading({"cells": [7]}), "without `values`"),
        (reading({"cells": [{"cell": "x", "values": {"256": 1}}]}), "not a concurrency"),
        (reading({"cells": [{"cell": 48, "values": {"256": "fast"}}]}), "value `fast`"),
        (reading({"cells": [{"cell": 48, "values": {"256": 10**400}}]}), "value `1000"),
        (reading({"metric": "ttft_ms_p99"}), "is of `ttft_ms_p99`"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_broken_reading_is_refused(text: str, said: str) -> None:
    """Never a traceback for someone else's file."""
    with pytest.raises(ExonerateError) as refused:
        parse_reading(text, arms={}, comparison=None)
    assert said in refused.value.problem


def test_a_whole_archive_is_refused() -> None:
    """One table is fitted at a time."""
    with pytest.raises(ExonerateError, match="at most 128"):
        table_of((c + 1, 256, 5.0) for c in range(129))
