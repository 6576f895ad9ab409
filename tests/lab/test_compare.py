"""Numbers against bounds, as written in the lab's files."""

from __future__ import annotations

import pytest

from exonerate.lab.compare import Compare, all_hold, read_compare


@pytest.mark.parametrize(
    ("written", "holds_for", "not_for"),
    [
        (4, [4], [3, 5]),
        ("4", [4], [3, 5]),
        (">= 4", [4, 5], [3]),
        (">4", [5], [4]),
        ("<= 2.5", [2, 2.5], [2.6]),
        ("< 2.5", [2.4], [2.5]),
        ("every 3", [3, 6, 9], [0, 1, 4]),
    ],
)
def test_spellings(written: object, holds_for: list[float], not_for: list[float]) -> None:
    """Each spelling holds for what it says and for nothing else."""
    compare = read_compare(written)
    assert all(compare.holds(value) for value in holds_for)
    assert not any(compare.holds(value) for value in not_for)


@pytest.mark.parametrize("written", ["many", "=> 4", "every 0.5", "", True, None, "-1"])
def test_other_spellings_are_refused(written: object) -> None:
    """What is neither a number nor a bound is refused."""
    with pytest.raises(ValueError, match=r"not a number|from 1 on"):
        read_compare(written)


def test_absent_bounds_hold() -> None:
    """Nothing written does not matter; one bound that fails is enough."""
    assert all_hold([(None, 1), (Compare(">", 0), 1)])
    assert not all_hold([(None, 1), (Compare(">", 1), 1)])
