"""Whether the engine gives back what a client used that has left, directly and through a hop.

An abort probe asks for a long stream and leaves in the middle of it. Afterwards the engine's count
of running requests must fall back at once, and with it the part of the KV cache that they held.
Where the count stays up, nobody has told the engine, or it does not listen; where the count falls
and the cache stays taken, the engine has lost a slot. Cache that is taken while nothing runs is
the sum of such losses, and shows without any probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, is_engine
from exonerate.core.diagnosis.facts import CounterSample, Facts, Round
from exonerate.core.diagnosis.freshness import may_be_old
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_MS, NS_PER_S

SETTLE_NS = NS_PER_S // 2
WINDOW_NS = 3 * NS_PER_S
BEFORE_NEXT_NS = 50 * NS_PER_MS
SAMPLES_MIN = 3
STILL_NS = 3 * NS_PER_S
FULL, EMPTY = 0.9, 0.02
"""Shares of the KV cache: nothing more fits, and nothing is held."""
KV_STEP_MIN = 0.001


def aborts(hop: Hop, facts: Facts, deployment: Deployment) -> list[Observation | None]:
    """What abort probes at this hop, and past it, showed."""
    engines = {h.name for h in deployment.hops if is_engine(h)}
    past = {other.name for other in beyond(deployment, hop.name)}
    return [
        _observed(hop.name, "abort-through", _states(facts, {hop.name}, engines)),
        _observed(hop.name, "abort-beyond", _states(facts, past, engines)),
        _slots_held(hop, facts) if is_engine(hop) else None,
    ]


def _states(facts: Facts, hops: set[str], engines: set[str]) -> list[str]:
    found: list[str | None] = []
    for session in facts.sessions:
        if session.plan.name != f"abort@{session.hop}" or session.hop not in hops:
            continue
        limits = [later.exchange.begun_ns for _, later in pairwise(session.rounds)]
        for round_, next_ns in zip(session.rounds, [*limits, None], strict=True):
            found.append(_after(facts, round_, engines, next_ns))
    return [state for state in found if state is not None]


def _after(facts: Facts, round_: Round, engines: set[str], next_ns: int | None) -> str | None:
    """The engine after one abort: `freed`, `kept` or `leaked`; None when none was running."""
    if round_.exchange.first_token_ns is None or round_.exchange.given_up != "deadline":
        return None
    begun, ended = round_.exchange.first_token_ns, round_.exchange.ended_ns
    until = min(ended + WINDOW_NS, next_ns - BEFORE_NEXT_NS if next_ns else ended + WINDOW_NS)
    samples = [s for s in facts.counters if s.hop in engines and s.values is not None]
    before = [s for s in samples if s.at_ns <= round_.exchange.begun_ns]
    during = [s for s in samples if begun <= s.at_ns <= ended]
    after = [s for s in samples if ended + SETTLE_NS <= s.at_ns <= until]
    if not during or len(after) < SAMPLES_MIN or may_be_old(after):
        return None
    if min(map(_running, after)) >= max(map(_running, during)):
        return "kept"
    rose = max(map(_kv, during)) - _kv(before[-1]) if before else 0.0
    stayed = min(map(_kv, after)) >= max(map(_kv, during)) - KV_STEP_MIN
    return "leaked" if rose > KV_STEP_MIN and stayed else "freed"


def _slots_held(hop: Hop, facts: Facts) -> Observation | None:
    """`above-live`: the engine holds more than it works on; `as-live`: it does not."""
    direct = _states(facts, {hop.name}, {hop.name})
    lost = [state for state in direct if state != "freed"]
    if lost:
        value = "above-live" if len(lost) == len(direct) else None
        return _held(hop, value, len(lost))
    samples = [s for s in facts.counters if s.hop == hop.name and s.values is not None]
    idle = [s for s in samples if _running(s) == 0 and "kv_usage" in (s.values or {})]
    full = [s for s in idle if _kv(s) >= FULL and _waiting(s) > 0]
    empty = [s for s in idle if _kv(s) <= EMPTY]
    if hop.role == "engine" and _stands_still(full) and not empty:
        return _held(hop, "above-live", len(full))
    if len(empty) >= SAMPLES_MIN and not full:
        return _held(hop, "as-live", len(empty))
    return _held(hop, "as-live", len(direct)) if direct else None


def _stands_still(samples: Sequence[CounterSample]) -> bool:
    """Whether these readings span some time in which the engine made no token."""
    tokens = {(s.values or {}).get("generated_tokens") for s in samples}
    if len(samples) < SAMPLES_MIN or len(tokens) > 1:
        return False
    return samples[-1].at_ns - samples[0].at_ns >= STILL_NS


def _held(hop: Hop, value: str | None, times: int) -> Observation | None:
    return Observation(hop.name, "slots-held", value, times, times) if value else None


def _running(sample: CounterSample) -> float:
    return (sample.values or {}).get("running", 0.0)


def _waiting(sample: CounterSample) -> float:
    return (sample.values or {}).get("waiting", 0.0)


def _kv(sample: CounterSample) -> float:
    return (sample.values or {}).get("kv_usage", 0.0)


def _observed(hop: str, name: str, states: Sequence[str]) -> Observation | None:
    if not states or len(set(states)) > 1:
        return None
    return Observation(hop, name, states[0], len(states), len(states))
