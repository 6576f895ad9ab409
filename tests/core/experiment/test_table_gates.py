"""What a table of trials shows of its own design."""

from __future__ import annotations

import pytest

from exonerate.core.experiment.table_gates import gates_of_table, not_examined_of, order_gate
from exonerate.core.stats.trials import Trial, TrialTable, tabulate


def table(orders: list[tuple[int, int]]) -> TrialTable:
    """One cell; each pair holds the places of baseline and candidate in a block."""
    rows = [
        Trial(block=str(block), order=order, arm=arm, cell=8, value=100.0)
        for block, pair in enumerate(orders)
        for arm, order in zip(("a", "b"), pair, strict=True)
    ]
    return tabulate(rows, ("a", "b"))


@pytest.mark.parametrize(
    ("orders", "status"),
    [
        ([(1, 2), (2, 1), (1, 2)], "kept"),
        ([(1, 2), (1, 2)], "doubtful"),
        ([(1, 2), (1, 2), (2, 1), (1, 2)], "doubtful"),
        ([(1, 1), (1, 1)], "not_examined"),
    ],
)
def test_the_order_has_to_be_balanced(orders: list[tuple[int, int]], status: str) -> None:
    """As many blocks with the baseline first as with the candidate, give or take one."""
    assert order_gate(table(orders)).status == status


def test_a_table_says_what_it_cannot_show() -> None:
    """Errors, tokens and the environment are named as not examined."""
    unseen = {gate.name for gate in gates_of_table(table([(1, 2)])) if gate.status != "kept"}
    assert {"errors", "tokens", "environment", "in-flight", "instrument"} <= unseen
    assert "rarer than 95 %" in not_examined_of(table([(1, 2)]))[0]
