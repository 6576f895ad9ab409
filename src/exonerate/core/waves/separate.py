"""The cheapest experiments that would tell the leading explanation from its rivals.

A pair of neighbouring concurrencies is cheap (two cells of one restart, so that the restart's own
offset cancels) and sharp: between C and C + 1 nothing smooth changes much, a wave boundary does.
The first pair is the one where the leader and the straight line differ most: it tests waves as
such. The second is the one where the leader differs most from every leading rival: the straight
line, and the rules that at least halve its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from scipy.special import stdtrit

from exonerate.core.waves.fit import Fit
from exonerate.core.waves.table import Table

# Run-to-run noise of one cell assumed for the number of blocks, at the noisy end of what
# restarts of serving engines show.
NOISE_ASSUMED = 0.03
BLOCKS_MIN = 5
BLOCKS_MAX = 8
_RIVALS = 5
_SPAN_MAX = 512

_Pair: TypeAlias = tuple[int, int]  # concurrency, target
_Bounded: TypeAlias = tuple[float, _Pair]  # distance at most, pair


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one explanation says of the step from C to C + 1, as a fraction of throughput."""

    label: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """Relative change of throughput from C to C + 1."""
        return self.after / self.before - 1.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """Two concurrencies at one target, and what each explanation predicts."""

    purpose: str
    concurrency: int
    target: int
    leader: Prediction
    rivals: tuple[Prediction, ...]
    separation: float
    blocks: int | None

    @property
    def cells(self) -> tuple[int, int]:
        """The two concurrencies to measure."""
        return self.concurrency, self.concurrency + 1


ATTENTION_MS_MIN = 1e-6
"""Less attention than a nanosecond a step is the rounding of a fit that found none."""


def experiments(
    table: Table, fits: Sequence[Fit], smooth: Fit, *, noise: float = NOISE_ASSUMED
) -> tuple[Experiment, ...]:
    """At most two pairs inside the measured range, the sharpest first; none without a leader."""
    if not fits or fits[0].coefficients.attention_ms <= ATTENTION_MS_MIN:
        return ()
    leader = fits[0]
    others = [one for one in fits[1 : 1 + _RIVALS] if 2 * one.rmse <= smooth.rmse] or fits[1:2]
    pairs = _by_distance(table, leader, smooth)
    waves = _sharpest(leader, [smooth], pairs, taken=())
    found = [] if waves is None else [_experiment("waves against none", waves, leader, [smooth])]
    taken = tuple((one.concurrency, one.target) for one in found)
    rivals = [*others, smooth]
    rules = _sharpest(leader, rivals, pairs, taken=taken) if others else None
    if rules is not None:
        found.append(_experiment("this rule against the next best", rules, leader, rivals))
    return tuple(_with_blocks(one, noise) for one in found)


def ab_command(experiment: Experiment, knob: str) -> str:
    """The command that says what the experiment could show, before it is run."""
    cells = ",".join(str(cell) for cell in experiment.cells)
    return f"exonerate ab {knob} --plan -C {cells} --blocks {experiment.blocks or BLOCKS_MAX}"


def blocks_needed(separation: float, noise: float) -> int | None:
    """Restarts of each arm for 80 % power at 5 %, two-sided; None above 8.

    The contrast is taken inside a restart, so its standard deviation is noise x sqrt(2).
    """
    for blocks in range(BLOCKS_MIN, BLOCKS_MAX + 1):
        degrees = blocks - 1
        factor = float(stdtrit(degrees, 0.975) + stdtrit(degrees, 0.8))
        if separation >= factor * noise * math.sqrt(2.0 / blocks):
            return blocks
    return None


def _sharpest(
    leader: Fit,
    rivals: Sequence[Fit],
    pairs: Sequence[tuple[float, _Pair]],
    *,
    taken: tuple[_Pair, ...],
) -> _Pair | None:
    """The pair with the largest distance to the nearest rival; None where there is none.

    `pairs` come by falling distance from the straight line, which is one of the rivals: no later
    pair can be better than that distance allows, so most of them need not be looked at.
    """
    best: tuple[float, _Pair] | None = None
    for bound, pair in pairs:
        if best is not None and best[0] >= bound:
            break
        if pair not in taken:
            distance = _distance(leader, rivals, pair)
            if best is None or distance > best[0]:
                best = (distance, pair)
    return None if best is None else best[1]


def _by_distance(table: Table, leader: Fit, smooth: Fit) -> list[_Bounded]:
    pairs = ((_distance(leader, [smooth], pair), pair) for pair in _pairs(table))
    return sorted(pairs, key=lambda found: -found[0])


def _distance(leader: Fit, rivals: Sequence[Fit], pair: _Pair) -> float:
    own = _logarithm(leader, *pair)
    return min(abs(own - _logarithm(one, *pair)) for one in rivals)


def _pairs(table: Table) -> Iterable[_Pair]:
    low, high = table.concurrencies[0], table.concurrencies[-1]
    stride = max(1, (high - low) // _SPAN_MAX)
    for target in table.targets:
        for concurrency in range(low, high, stride):
            yield concurrency, target


def _experiment(purpose: str, pair: _Pair, leader: Fit, rivals: Sequence[Fit]) -> Experiment:
    concurrency, target = pair
    return Experiment(
        purpose,
        concurrency,
        target,
        _predicted(leader, concurrency, target),
        tuple(_predicted(one, concurrency, target) for one in rivals),
        math.expm1(_distance(leader, rivals, pair)),
        None,
    )


def _with_blocks(one: Experiment, noise: float) -> Experiment:
    return replace(one, blocks=blocks_needed(math.log1p(one.separation), noise))


def _predicted(fit: Fit, concurrency: int, target: int) -> Prediction:
    return Prediction(
        fit.explanation.label,
        _throughput(fit, concurrency, target),
        _throughput(fit, concurrency + 1, target),
    )


def _throughput(fit: Fit, concurrency: int, target: int) -> float:
    relative = fit.explanation.time_of(concurrency, target)
    return fit.coefficients.throughput(concurrency, relative)


def _logarithm(fit: Fit, concurrency: int, target: int) -> float:
    before = _throughput(fit, concurrency, target)
    after = _throughput(fit, concurrency + 1, target)
    # An extrapolated step time can fall to nothing; such a fit predicts no ratio.
    return math.log(after / before) if before > 0 and after > 0 else 0.0
