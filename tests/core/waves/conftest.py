"""The founding benchmark's table, as its document states it."""

from __future__ import annotations

import pytest

from exonerate.core.waves.table import Table, table_of

FOUNDING = (
    (48, 256, 684.7),
    (64, 256, 719.5),
    (80, 256, 833.0),
    (96, 256, 799.3),
    (48, 512, 680.6),
    (64, 512, 811.7),
    (80, 512, 842.7),
    (96, 512, 844.6),
)


@pytest.fixture(scope="session")
def founding() -> Table:
    """Tokens per second at four concurrencies, one run per cell."""
    return table_of(FOUNDING)
