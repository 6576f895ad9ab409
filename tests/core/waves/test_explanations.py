"""What a fit tries."""

from __future__ import annotations

from exonerate.core.waves.explanations import OVERHEADS_WIDE, RULES, UNITS_TRIED, tried, wide
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, Workload

LOAD = Workload(1, parse_lengths("8192"), 1, 1 << 20)


def test_every_rule_is_tried_with_every_number_of_units() -> None:
    """No rule is left out of the correction."""
    found = tried(Machine(188), LOAD, Costs())
    assert len(found) == len(RULES) * len(UNITS_TRIED)
    assert len({one.label for one in found}) == len(found)


def test_the_wide_search_holds_many_times_more() -> None:
    """More units, short caches, overhead."""
    found = wide(Machine(188), LOAD)
    assert len(found) > 10 * len(tried(Machine(188), LOAD, Costs()))
    assert len(OVERHEADS_WIDE) == 2


def test_an_explanation_answers_with_relative_attention_time() -> None:
    """1.5 at concurrency 96 and target 256."""
    leader = next(
        one for one in tried(Machine(188), LOAD, Costs()) if one.label == "2C target_ctas:ceil"
    )
    assert leader.time_of(96, 256) == 1.5
    assert leader.follows_target
