"""Work units from heads."""

from __future__ import annotations

import pytest

from exonerate.core.waves.heads import parse_heads
from exonerate.errors import ExonerateError


@pytest.mark.parametrize(
    ("text", "units"),
    [("32,1,16", 2), ("128,1,64", 2), ("32,8,4", 8), ("32,8,64", 8), ("32,32,1", 32)],
)
def test_units_are_kv_heads_times_head_tiles(text: str, units: int) -> None:
    """Latent attention in tiles of query heads, GQA by KV head, MHA by head."""
    assert parse_heads(text).units == units


@pytest.mark.parametrize("text", ["", "32", "32,1", "32,0,1", "a,b,c", "33,8,1", "99999,99999,1"])
def test_heads_that_do_not_fit_together_are_refused(text: str) -> None:
    """Three positive numbers, query heads a multiple of KV heads, a sane number of units."""
    with pytest.raises(ExonerateError):
        parse_heads(text)
