"""Cliffs, recommendations and their price."""

from __future__ import annotations

import pytest

from exonerate.core.waves.explanations import RULES
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, WaveModel, Workload
from exonerate.core.waves.plan import Plan, best_splits, cliffs, walk
from exonerate.core.waves.plan import plan as planned
from exonerate.core.waves.rules import fixed_size, rule_named

LONG = Workload(2, parse_lengths("8192"), 1, 1 << 20)
MODEL = WaveModel(rule_named("target_ctas:ceil", RULES), Machine(188), LONG, Costs(per_cta=0.02))


def plan(model: WaveModel, concurrencies: tuple[int, ...], targets: tuple[int, ...]) -> Plan:
    """A plan that shows nobody its progress."""
    return planned(model, concurrencies, targets, lambda _what, _fraction: None)


def test_the_cliffs_of_the_founding_setting_are_at_63_and_95() -> None:
    """A third wave begins at 378 and at 380 CTAs."""
    found = cliffs(walk(MODEL, (48, 96), 256))
    assert [cliff.concurrency for cliff in found] == [62, 94]
    assert found[1].rise == pytest.approx(0.5, abs=0.001)
    assert (found[1].before.ctas, found[1].after.ctas) == (376, 380)


def test_the_best_number_of_splits_is_searched_not_divided() -> None:
    """Two per cent per CTA, at concurrency 48, 64, 80, 94 and 96."""
    assert [best_splits(MODEL, c).splits_max for c in (48, 64, 80, 94, 96)] == [7, 4, 7, 1, 7]


def test_a_plan_recommends_a_target_that_every_rounding_understands() -> None:
    """splits x units x concurrency divides without rest."""
    found = plan(MODEL, (48, 64, 80, 96), (256, 512))
    assert [(one.concurrency, one.target) for one in found.choices] == [
        (48, 672),
        (64, 512),
        (80, 1120),
        (96, 1344),
    ]
    for choice in found.choices:
        assert choice.outcome.time <= choice.best_planned.time + 1e-9
        assert 0 <= choice.saving + 1e-9 < 1
        assert MODEL.at(choice.concurrency, choice.target).splits_max == choice.splits


def test_the_price_of_choosing_by_the_batch_is_named() -> None:
    """Counts that change with the concurrency, and what a fixed size costs instead."""
    found = plan(MODEL, (48, 64, 80, 96), (256, 512)).invariance
    assert found.splits_seen == (4, 7)
    assert 0 <= found.size_cost <= found.size_cost_max
    assert found.size >= 64


def test_a_fixed_split_size_has_no_better_fixed_size_than_the_one_named() -> None:
    """The named size has the smallest mean time of all powers of two."""
    found = plan(MODEL, (48, 96), (256,))
    named = found.invariance.size

    def total(size: int) -> float:
        model = WaveModel(fixed_size(size), Machine(188), LONG, Costs(per_cta=0.02))
        return sum(model.at(one.concurrency, 1).time / one.outcome.time for one in found.choices)

    assert total(named) == min(total(64 << step) for step in range(12))


def test_a_wide_range_is_walked_up_to_a_bound_and_cells_beyond_it_are_still_there() -> None:
    """2,049 concurrencies at most; the one at 2,200 is evaluated by itself."""
    found = plan(MODEL, (1, 2200), (256,))
    assert [one.concurrency for one in found.outcomes] == [1, 2200]
    assert found.curves[256][-1][0] <= 2049


def test_a_single_concurrency_has_no_cliff() -> None:
    """There is nothing to step over."""
    assert cliffs(walk(MODEL, (94,), 256)) == ()
