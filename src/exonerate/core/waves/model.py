"""The wave model: what one launch costs, in units of one request's whole KV cache.

    time = schedule(CTAs, slots) / mean KV tokens  +  combine x splits       (splits > 1)

Time 1.0 is what an unsplit launch takes while its CTAs fit in one wave. Each CTA may carry a fixed
overhead (prologue, first loads), as a share of that unit. Attention in absolute time is this number
times a constant that only a measurement can give.

Not in the model: the L2 cache, clocks, CUDA graph padding, queueing that makes the real batch
smaller than the concurrency, and kernels that change path at a batch size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from exonerate.core.waves.lengths import Lengths
from exonerate.core.waves.partition import Batch, Launch
from exonerate.core.waves.rules import Rule
from exonerate.core.waves.schedule import schedule
from exonerate.errors import ExonerateError

CONCURRENCY_MAX = 8192
# More CTAs than any decode step of these concurrencies is cut into.
TARGET_MAX = 1 << 16
UNITS_MAX = 1024
CTAS_PER_SM_MAX = 32


@dataclass(frozen=True, slots=True)
class Machine:
    """CTAs that run at the same time, and how many of them already fill the memory's bandwidth."""

    slots: int
    saturating: float | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """Shares of one unsplit request: per CTA, and per split in the combine kernel."""

    per_cta: float = 0.0
    combine: float = 0.0


@dataclass(frozen=True, slots=True)
class Workload:
    """The attention of one engine: pieces per request, KV lengths, split granularity, cap."""

    units: int
    lengths: Lengths
    tile: int
    splits_max: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model says of one concurrency and target."""

    concurrency: int
    target: int
    splits_min: int
    splits_max: int
    ctas: int
    waves: float
    tail_efficiency: float
    busy: float
    time: float

    @property
    def waves_whole(self) -> int:
        """Waves, the last one counted as a whole."""
        return math.ceil(self.waves)


@dataclass(frozen=True, slots=True)
class WaveModel:
    """A rule on a machine; `at` evaluates it."""

    rule: Rule
    machine: Machine
    workload: Workload
    costs: Costs = Costs()

    def at(self, concurrency: int, target: int) -> Outcome:
        """CTAs, waves and relative attention time of one decode step."""
        assert 1 <= concurrency <= CONCURRENCY_MAX
        load = self.workload
        batch = Batch(load.lengths.of_batch(concurrency, load.seed), load.units, load.tile)
        if not any(batch.lengths):
            raise ExonerateError(
                f"no request of a batch of {concurrency} has a token with KV lengths "
                f"`{load.lengths.text}`",
                "give lengths above 0",
            )
        partition = self.rule.cut(batch, Launch(target, self.machine.slots, load.splits_max))
        unit = batch.tokens_mean
        plan = schedule(
            partition.runs,
            self.machine.slots,
            tokens_per_cta=self.costs.per_cta * unit,
            saturating=self.machine.saturating,
        )
        most = max(partition.splits)
        combine = self.costs.combine * most if most > 1 else 0.0
        waves = partition.ctas / self.machine.slots
        return Outcome(
            concurrency=concurrency,
            target=target,
            splits_min=min(partition.splits),
            splits_max=most,
            ctas=partition.ctas,
            waves=waves,
            tail_efficiency=waves / math.ceil(waves),
            busy=plan.busy,
            time=plan.time / unit + combine,
        )


def checked_target(target: int) -> int:
    """The target, refused where no launch could have it."""
    return _within(target, 1, TARGET_MAX, "target")


def checked_concurrency(concurrency: int) -> int:
    """The concurrency, refused where the model would not end in reasonable time."""
    return _within(concurrency, 1, CONCURRENCY_MAX, "concurrency")


def checked_units(units: int) -> int:
    """CTAs per request before splitting, refused outside 1 to 1024."""
    return _within(units, 1, UNITS_MAX, "units per request")


def slots_of(sms: int, ctas_per_sm: int) -> int:
    """CTAs that run at once; a kernel that does not fit on an SM is refused."""
    return sms * _within(ctas_per_sm, 1, CTAS_PER_SM_MAX, "CTAs per SM")


def _within(value: int, low: int, high: int, what: str) -> int:
    if low <= value <= high:
        return value
    raise ExonerateError(
        f"{what} is {value}; the model takes {low} to {high}",
        "give a number that a launch on this GPU could really have",
    )
