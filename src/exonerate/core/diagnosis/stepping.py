"""Whether an engine's scheduler went on making steps until the end of a wait.

A scheduler that is stuck makes none for anybody. So counters that still rise in the second half of
a wait, for whomever, speak against it, also where it cannot be told whose work it was, and whether
it explains the wait. What rose in the first half may be what was done before it stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import CounterSample, Facts, Round, Session
from exonerate.core.diagnosis.freshness import asked_ns
from exonerate.core.diagnosis.meanwhile import COUNTER_LAG_NS, PROGRESS_COUNTERS
from exonerate.core.diagnosis.suspect import Observation

RISES_MIN = 2


def steps(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """`go-on` where it did so in most of the waits that ended in vain.

    Args:
        hop: an engine.
        facts: with the readings of its counters.
        through: the victim's sessions whose requests pass it.
    """
    hung = [s.failed for s in through if s.failed is not None and s.failed.outcome == "hang"]
    went_on = [_rises(_second_half(facts, hop.name, round_)) >= RISES_MIN for round_ in hung]
    times = sum(went_on)
    if 2 * times <= len(hung):
        return None
    return Observation(hop.name, "steps", "go-on", times, len(hung))


def _second_half(facts: Facts, engine: str, round_: Round) -> list[CounterSample]:
    """The readings of the engine's counters that were asked for when half of the wait was over."""
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    since = begun + max((ended - begun) // 2, COUNTER_LAG_NS)
    return [
        sample
        for sample in facts.counters
        if sample.hop == engine
        and sample.values is not None
        and asked_ns(sample) >= since
        and sample.at_ns <= ended
    ]


def _rises(samples: Sequence[CounterSample]) -> int:
    """How often one and the same counter had risen since the reading before, at the most."""
    values = [sample.values or {} for sample in samples]
    return max(
        sum(
            name in before and name in after and after[name] > before[name]
            for before, after in pairwise(values)
        )
        for name in PROGRESS_COUNTERS
    )
