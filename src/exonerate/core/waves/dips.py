"""Where throughput falls although the concurrency rises, measured and fitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from exonerate.core.waves.fit import FittedCell

# A fall below this may be rounding in a document.
FALL_MIN = 0.01


@dataclass(frozen=True, slots=True)
class Dip:
    """From one measured concurrency to the next; changes are fractions of throughput."""

    target: int
    concurrency: int
    concurrency_next: int
    measured: float
    fitted: float

    @property
    def reproduced(self) -> bool:
        """Whether measurement and fit agree that throughput falls."""
        return self.measured <= -FALL_MIN and self.fitted <= -FALL_MIN


def dips(cells: Sequence[FittedCell]) -> tuple[Dip, ...]:
    """Every neighbouring pair in which the measurement or the fit falls by 1 % or more."""
    found = (_dip(before, after) for before, after in _neighbours(cells))
    return tuple(dip for dip in found if min(dip.measured, dip.fitted) <= -FALL_MIN)


def _neighbours(cells: Sequence[FittedCell]) -> Iterable[tuple[FittedCell, FittedCell]]:
    ordered = sorted(cells, key=lambda cell: (cell.target, cell.concurrency))
    return (pair for pair in pairwise(ordered) if pair[0].target == pair[1].target)


def _dip(before: FittedCell, after: FittedCell) -> Dip:
    return Dip(
        before.target,
        before.concurrency,
        after.concurrency,
        after.measured / before.measured - 1.0,
        after.fitted / before.fitted - 1.0,
    )
