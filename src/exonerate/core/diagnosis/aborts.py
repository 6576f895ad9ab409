"""Whether the engine stops working for a client that has left, directly and through a hop.

An abort probe asks for a long stream and leaves in the middle of it. Afterwards the engine's count
of running requests must fall back at once; where it stays up while the counters move, somebody has
not told the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, is_engine
from exonerate.core.diagnosis.facts import CounterSample, Facts, Session
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S

SETTLE_NS = NS_PER_S // 2
WINDOW_NS = 3 * NS_PER_S
SAMPLES_MIN = 3


def aborts(hop: Hop, facts: Facts, deployment: Deployment) -> list[Observation | None]:
    """What abort probes at this hop, and past it, showed."""
    engines = {h.name for h in deployment.hops if is_engine(h)}
    past = {other.name for other in beyond(deployment, hop.name)}
    return [
        _observed(hop.name, "abort-through", _states(facts, {hop.name}, engines)),
        _observed(hop.name, "abort-beyond", _states(facts, past, engines)),
    ]


def _states(facts: Facts, hops: set[str], engines: set[str]) -> list[str]:
    sessions = [s for s in facts.sessions if s.plan.name == f"abort@{s.hop}" and s.hop in hops]
    found = [_after(facts, session, engines) for session in sessions]
    return [state for state in found if state is not None]


def _after(facts: Facts, session: Session, engines: set[str]) -> str | None:
    """The engine after one abort: `freed` or `kept`; None when the probe was not running before."""
    round_ = session.rounds[0]
    if round_.exchange.first_token_ns is None or round_.exchange.given_up != "deadline":
        return None
    begun, ended = round_.exchange.first_token_ns, round_.exchange.ended_ns
    samples = [s for s in facts.counters if s.hop in engines and s.values is not None]
    during = [_running(s) for s in samples if begun <= s.at_ns <= ended]
    after = [_running(s) for s in samples if ended + SETTLE_NS <= s.at_ns <= ended + WINDOW_NS]
    if not during or len(after) < SAMPLES_MIN:
        return None
    return "kept" if min(after) >= max(during) else "freed"


def _running(sample: CounterSample) -> float:
    return (sample.values or {}).get("running", 0.0)


def _observed(hop: str, name: str, states: Sequence[str]) -> Observation | None:
    if not states or len(set(states)) > 1:
        return None
    return Observation(hop, name, states[0], len(states), len(states))
