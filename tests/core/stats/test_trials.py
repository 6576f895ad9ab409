"""Trials arranged as arrays."""

from __future__ import annotations

import numpy as np

from exonerate.core.stats.trials import Trial, tabulate


def trial(block: str, order: int, arm: str, cell: int) -> Trial:
    """A trial whose value tells where it comes from."""
    return Trial(block=block, order=order, arm=arm, cell=cell, value=float(cell))


def test_rows_find_their_place() -> None:
    """Cells stand in ascending order, blocks as they appear, other arms are left out."""
    rows = [trial("b", 2, "x", 64), trial("b", 1, "y", 8), trial("a", 1, "x", 8)]
    table = tabulate([*rows, trial("c", 1, "z", 1)], ("x", "y"))
    assert (table.blocks, table.cells) == (("b", "a"), (8, 64))
    assert np.isnan(table.log_values).sum() == 5
    assert table.log_values[0, 0, 1] == np.log(64)


def test_who_ran_first_comes_from_the_order() -> None:
    """The first arm is known where both arms have an order, also when every row has its own."""
    rows = [
        trial("1", 1, "x", 8), trial("1", 2, "x", 64), trial("1", 3, "y", 8),
        trial("1", 4, "y", 64),
        trial("2", 2, "x", 8), trial("2", 1, "y", 8),
        trial("3", 1, "x", 8), trial("3", 1, "y", 8),
        trial("4", 1, "x", 8),
    ]  # fmt: skip
    first = tabulate(rows, ("x", "y")).first
    assert first[:2].tolist() == [0.0, 1.0]
    assert np.isnan(first[2:]).all()
