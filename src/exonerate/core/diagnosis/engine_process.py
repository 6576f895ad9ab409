"""Whether an engine's process was replaced or is down, and whether its counters began anew.

A cut answer says nothing about why it was cut. A restart shows in the identity of the process that
listens, in the time at which it says that it was started, in counters that fall (they only ever
rise while a process lives), or in a port that nobody listens on. Where several processes answer in
turn under one address, neither counters nor times say anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import CounterSample, Facts, Round
from exonerate.core.diagnosis.suspect import Observation

STARTED_LATER_S = 1.0
REFUSED = "hXK"
"""The end code of a connection that was refused."""
RISING = ("generated_tokens", "prompt_tokens", "steps", "requests")
"""Counters that never fall in the life of a process."""


def engine_process(hop: Hop, facts: Facts) -> Observation | None:
    """`restarted`, `down` or `same`; None where nothing of it was seen."""
    restarts = max(_replaced(hop, facts), _begun_anew(hop, facts))
    refused = [
        refuses_connection(round_)
        for session in facts.sessions
        if session.hop == hop.name
        for round_ in session.rounds
        if round_.outcome != "unfinished"
    ]
    if restarts:
        return Observation(hop.name, "engine-process", "restarted", restarts, restarts)
    if any(refused):
        return Observation(hop.name, "engine-process", "down", sum(refused), len(refused))
    seen = len(_identities(hop, facts))
    return Observation(hop.name, "engine-process", "same", 1, 1) if seen else None


def refuses_connection(round_: Round) -> bool:
    """Whether the hop's host said that nobody listens; silence and unknown names say nothing."""
    return round_.outcome == "no-connect" and round_.exchange.end == REFUSED


def _identities(hop: Hop, facts: Facts) -> list[frozenset[str]]:
    samples = [
        sample
        for (_, name), group in facts.sockets.items()
        if name == hop.name
        for sample in group
        if sample.processes
    ]
    return [frozenset(s.processes) for s in sorted(samples, key=lambda s: s.at_ns)]


def _replaced(hop: Hop, facts: Facts) -> int:
    """How often every process that listened was gone and others listened."""
    return sum(not before & after for before, after in pairwise(_identities(hop, facts)))


def _begun_anew(hop: Hop, facts: Facts) -> int:
    """How often a counter fell, or the process became a younger one, between two readings."""
    samples = [s for s in facts.counters if s.hop == hop.name and s.values is not None]
    ordered = sorted(samples, key=lambda s: s.at_ns)
    started = [started_at for s in ordered if (started_at := _values(s).get("started_at"))]
    if any(after < before for before, after in pairwise(started)):
        return 0
    younger = sum(after - before >= STARTED_LATER_S for before, after in pairwise(started))
    fell = sum(_fell(_values(before), _values(after)) for before, after in pairwise(ordered))
    return max(younger, fell)


def _fell(before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    return any(after[name] < before[name] for name in RISING if name in before and name in after)


def _values(sample: CounterSample) -> Mapping[str, float]:
    return sample.values or {}
