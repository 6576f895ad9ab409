"""Which rules a fit tries, and the wider set that someone who searched longer could have tried."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

from exonerate.core.waves.fit import Explanation
from exonerate.core.waves.lengths import parse_lengths
from exonerate.core.waves.model import Costs, Machine, WaveModel, Workload
from exonerate.core.waves.public_rules import PUBLIC_RULES
from exonerate.core.waves.rules import TARGET_RULES, Rule

RULES: tuple[Rule, ...] = TARGET_RULES + PUBLIC_RULES
UNITS_TRIED = (1, 2, 4, 8)
UNITS_WIDE = (1, 2, 3, 4, 6, 8, 12, 16)
# Cache lengths in tokens with the usual block of 64: sparse candidates up to a long context.
LENGTHS_WIDE = (640, 1152, 2048, 8192)
TILE_WIDE = 64
OVERHEADS_WIDE = (0.0, 0.02)


def tried(
    machine: Machine, workload: Workload, costs: Costs, rules: tuple[Rule, ...] = RULES
) -> tuple[Explanation, ...]:
    """Every rule with every plausible number of work units per request."""
    return tuple(
        explanation(WaveModel(rule, machine, replace(workload, units=units), costs))
        for units in UNITS_TRIED
        for rule in rules
    )


def wide(machine: Machine, workload: Workload) -> tuple[Explanation, ...]:
    """The same with more units, short caches and per-CTA overhead: the garden of forking paths."""
    return tuple(
        explanation(WaveModel(rule, machine, load, Costs(per_cta=overhead)))
        for overhead in OVERHEADS_WIDE
        for load in _loads(workload)
        for rule in RULES
    )


def explanation(model: WaveModel) -> Explanation:
    """The model of one rule as an explanation of a table."""
    return Explanation(
        model.rule.name,
        model.workload.units,
        # Ranking, shuffling and the experiments ask for the same cells again and again.
        functools.cache(lambda concurrency, target: model.at(concurrency, target).time),
        model.rule.follows_target,
    )


def _loads(workload: Workload) -> Iterable[Workload]:
    for units in UNITS_WIDE:
        yield replace(workload, units=units)
        for tokens in LENGTHS_WIDE:
            lengths = parse_lengths(f"fixed:{tokens}")
            yield replace(workload, units=units, lengths=lengths, tile=TILE_WIDE)
