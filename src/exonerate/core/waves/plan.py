"""Predicts the next dips and chooses a better setting, for a rule that is taken as known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from exonerate.core.ports import Progress
from exonerate.core.waves.model import Outcome, WaveModel
from exonerate.core.waves.rules import SIZE_FIXED, fixed_count, fixed_size

CLIFF_MIN = 0.05
SPLITS_MAX = 32
SPAN_MAX = 2048
_SIZES_TRIED = 12
_CURVE_POINTS = 256

Curve: TypeAlias = "tuple[tuple[int, float], ...]"


@dataclass(frozen=True, slots=True)
class Cliff:
    """From `concurrency` to the next one attention time rises by `rise`, a fraction."""

    target: int
    concurrency: int
    rise: float
    before: Outcome
    after: Outcome


@dataclass(frozen=True, slots=True)
class Choice:
    """The best number of splits at one concurrency, and the target that would give it.

    `saving` is against the best of the planned targets, as a fraction of attention time.
    """

    concurrency: int
    splits: int
    target: int
    outcome: Outcome
    best_planned: Outcome
    saving: float


@dataclass(frozen=True, slots=True)
class Invariance:
    """What choosing splits by the batch costs, and what avoiding it costs.

    `splits_seen` are the counts in use over the planned concurrencies: where there is more than
    one, a request's sums are taken in another order when its batch-mates change. `size` is the
    fixed split size that is best over them, `size_cost` the mean extra attention time it takes.
    """

    splits_seen: tuple[int, ...]
    rule: str
    size: int
    size_cost: float
    size_cost_max: float


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the model says of the asked concurrencies and targets.

    `curves` is the relative attention time over the concurrency for each target, for drawing.
    """

    outcomes: tuple[Outcome, ...]
    cliffs: tuple[Cliff, ...]
    choices: tuple[Choice, ...]
    invariance: Invariance
    curves: Mapping[int, Curve]


def floor_us(model: WaveModel, concurrency: int, bytes_per_token: float, gb_s: float) -> float:
    """Microseconds per layer below which no split can go: every unit reads its KV cache once."""
    load = model.workload
    tokens = sum(load.lengths.of_batch(concurrency, load.seed)) * load.units
    return tokens * bytes_per_token / gb_s / 1000.0


def plan(
    model: WaveModel, concurrencies: Sequence[int], targets: Sequence[int], progress: Progress
) -> Plan:
    """Outcomes, cliffs between the lowest and highest concurrency, and recommendations."""
    walks = {}
    for done, target in enumerate(targets):
        progress(f"waves at target {target}", done / len(targets))
        walks[target] = walk(model, concurrencies, target)
    outcomes = tuple(
        walks[target].get(c) or model.at(c, target) for target in targets for c in concurrencies
    )
    progress("looking for better splits", None)
    choices = tuple(_choice(model, c, outcomes) for c in concurrencies)
    return Plan(
        outcomes,
        tuple(cliff for each in walks.values() for cliff in cliffs(each)),
        choices,
        _invariance(model, choices),
        {target: _curve(each) for target, each in walks.items()},
    )


def walk(model: WaveModel, concurrencies: Sequence[int], target: int) -> dict[int, Outcome]:
    """Every concurrency from the lowest to the highest asked for, at most 2,048 of them."""
    low, high = min(concurrencies), max(concurrencies)
    return {c: model.at(c, target) for c in range(low, min(high, low + SPAN_MAX) + 1)}


def cliffs(outcomes: Mapping[int, Outcome]) -> tuple[Cliff, ...]:
    """Neighbouring concurrencies between which attention time rises by 5 % or more."""
    found = []
    for before, after in pairwise(outcomes.values()):
        rise = after.time / before.time - 1.0
        if rise >= CLIFF_MIN:
            found.append(Cliff(before.target, before.concurrency, rise, before, after))
    return tuple(found)


def _curve(outcomes: Mapping[int, Outcome]) -> Curve:
    step = max(1, len(outcomes) // _CURVE_POINTS)
    return tuple((c, outcome.time) for c, outcome in list(outcomes.items())[::step])


def best_splits(model: WaveModel, concurrency: int) -> Outcome:
    """The outcome of the number of splits that takes least time, fewest splits on a tie."""
    most = max(1, min(SPLITS_MAX, model.workload.splits_max))
    tried = (
        replace(model, rule=fixed_count(splits)).at(concurrency, 1) for splits in range(1, most + 1)
    )
    return min(tried, key=lambda outcome: (round(outcome.time, 9), outcome.splits_max))


def _choice(model: WaveModel, concurrency: int, outcomes: Sequence[Outcome]) -> Choice:
    best = best_splits(model, concurrency)
    planned = min(
        (one for one in outcomes if one.concurrency == concurrency), key=lambda one: one.time
    )
    # splits x base is the one target that every rounding turns into exactly these splits.
    target = best.splits_max * concurrency * model.workload.units
    return Choice(
        concurrency, best.splits_max, target, best, planned, 1.0 - best.time / planned.time
    )


def _invariance(model: WaveModel, choices: Sequence[Choice]) -> Invariance:
    size, extra = min(
        ((size, _extra(model, size, choices)) for size in _sizes(model)),
        key=lambda tried: (sum(tried[1]), -tried[0]),
    )
    seen = sorted({choice.splits for choice in choices})
    return Invariance(tuple(seen), SIZE_FIXED, size, sum(extra) / len(extra), max(extra))


def _sizes(model: WaveModel) -> list[int]:
    """Split sizes from 64 tokens, or one tile, upwards by doubling."""
    first = max(64, model.workload.tile)
    first = -(-first // model.workload.tile) * model.workload.tile
    return [first << step for step in range(_SIZES_TRIED)]


def _extra(model: WaveModel, size: int, choices: Sequence[Choice]) -> list[float]:
    fixed = replace(model, rule=fixed_size(size))
    return [fixed.at(choice.concurrency, 1).time / choice.outcome.time - 1.0 for choice in choices]
