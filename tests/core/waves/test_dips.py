"""Dips, measured and fitted."""

from __future__ import annotations

from exonerate.core.waves.dips import dips
from exonerate.core.waves.explanations import tried
from exonerate.core.waves.fit import FittedCell, fit
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload
from exonerate.core.waves.table import Table

TRIED = tried(Machine(188), Workload(1, parse_lengths("8192"), 1, 1 << 20), Costs())


def test_the_founding_dip_is_at_96_for_256_and_nowhere_else(founding: Table) -> None:
    """Measured -4.0 %, fitted -5.0 %; 512 has none, measured or fitted."""
    best = fit(founding, next(one for one in TRIED if one.label == "2C target_ctas:ceil"))
    (dip,) = dips(best.cells)
    assert (dip.target, dip.concurrency, dip.concurrency_next) == (256, 80, 96)
    assert dip.reproduced
    assert (round(dip.measured, 3), round(dip.fitted, 3)) == (-0.040, -0.050)


def test_a_dip_that_only_one_side_shows_is_not_reproduced() -> None:
    """Measured to fall, fitted to rise."""
    cells = [
        FittedCell(8, 1, 100.0, 100.0, 100.0, 1.0, 0.1),
        FittedCell(16, 1, 90.0, 110.0, 110.0, 1.0, 0.1),
        FittedCell(16, 2, 50.0, 50.0, 50.0, 1.0, 0.1),
    ]
    (dip,) = dips(cells)
    assert not dip.reproduced
