"""Roles of columns, and the reasons that come with them."""

from __future__ import annotations

import pytest

from exonerate.core.documents.columns import Columns, NotUnderstood, arm_label, assign_roles
from exonerate.core.documents.table import Row, Table


def table(header: tuple[str, ...], *rows: tuple[str, ...]) -> Table:
    """A table of those cells."""
    return Table(1, header, tuple(Row(2 + at, row) for at, row in enumerate(rows)))


def test_every_column_gets_a_role_with_a_reason() -> None:
    """The mapping says in words what each column was taken for."""
    columns = assign_roles(
        table(("C", "Baseline (256)", "CTAS=512", "Gain", "n"), ("48", "1.5", "2.5", "+1%", "3"))
    )
    assert isinstance(columns, Columns)
    assert columns.mapping == (
        "`C` is the concurrency of each row",
        "`Baseline (256)` holds values of arm `256`",
        "`CTAS=512` holds values of arm `512` (a value of `CTAS`)",
        "`Gain` states a gain",
        "`n` gives the runs",
    )


@pytest.mark.parametrize(
    ("header", "arm", "knob"),
    [
        ("Baseline (256)", "256", None),
        ("TARGET_CTAS=512", "512", "TARGET_CTAS"),
        ("--max-num-seqs=96 tok/s", "96", "--max-num-seqs"),
        ("tokens/s (512)", "512", None),
        ("p50 TTFT ms, overlap on", "overlap on", None),
        ("TTFT (ms)", "", None),
        ("patched", "patched", None),
    ],
)
def test_arm_labels(header: str, arm: str, knob: str | None) -> None:
    """The value in a header names the arm; metric, unit and quantile do not."""
    label, named = arm_label(header)
    assert label == arm
    assert (named or "").lstrip("-") == (knob or "").lstrip("-")


def test_a_table_about_something_else_is_benign() -> None:
    """A table without numbers or rows is no failed comparison."""
    for other in (table(("a", "b"), ("x", "y")), table(("C", "256"))):
        found = assign_roles(other)
        assert isinstance(found, NotUnderstood)
        assert found.benign


def test_a_constant_second_load_is_no_rival() -> None:
    """A batch size that never changes does not compete with the concurrency."""
    columns = assign_roles(
        table(("C", "batch", "256", "512"), ("8", "1", "1.5", "2.5"), ("9", "1", "1.5", "2.5"))
    )
    assert isinstance(columns, Columns)
    assert columns.cell.header == "C"
