"""What pages of counters say of a hop: its breaker, and whether a request went on.

A counter tells of one request only while nobody else asks: the hop's count of requests taken must
have risen by the one of ours that was sent in that time. Then the count of requests sent on shows
whether it left, and over how many tries.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, is_engine
from exonerate.core.diagnosis.beside import PageSample
from exonerate.core.diagnosis.carried import WATCHED_S_MIN, Passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.logged import logged
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S, seconds_between

AROUND_NS = NS_PER_S
"""A reading this close to a round still tells of it."""
SETTLED_NS = NS_PER_S // 10


def counted_passage(
    facts: Facts, round_: Round, hop: Hop, deployment: Deployment
) -> Passage | None:
    """What became of one request at a hop, by its counters; None unless it was alone."""
    if is_engine(hop):
        return None
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    asked = _begun(facts, hop, deployment)
    until = min([ns for ns in asked if ns > begun] + [ended + AROUND_NS])
    samples = _samples(facts, hop.name)
    earlier = [s for s in samples if s.at_ns <= begun]
    later = [s for s in samples if begun + SETTLED_NS < s.at_ns <= until]
    if not earlier or not later:
        return None
    first, last = earlier[-1], later[-1]
    taken, sent_on = _rise(first, last, "requests_in"), _rise(first, last, "requests_up")
    ours = sum(first.at_ns <= ns <= last.at_ns for ns in asked)
    if taken != 1 or ours != 1 or sent_on is None:
        return None
    if sent_on > 0:
        return Passage("yes", int(sent_on), elsewhere=None, source="counters")
    over = last.at_ns >= ended or seconds_between(begun, last.at_ns) >= WATCHED_S_MIN
    return Passage("no", source="counters") if over else None


def breaker(hop: Hop, facts: Facts, through: Sequence[Session]) -> Observation | None:
    """Whether the hop kept its next hops from being asked while rounds failed."""
    bad = [(s, s.failed) for s in through if s.failed is not None]
    if is_engine(hop) or not bad:
        return None
    states = [state for s, r in bad if (state := _breaker_in(facts, s, r, hop)) is not None]
    value = "open" if "open" in states else "closed"
    if not states:
        return None
    return Observation(hop.name, "breaker", value, states.count(value), len(states))


def _breaker_in(facts: Facts, session: Session, round_: Round, hop: Hop) -> str | None:
    entry = logged(facts, session, round_, hop)
    if entry is not None and entry.no_worker:
        return "open"
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    values = [
        s.values["breaker_open"]
        for s in _samples(facts, hop.name)
        if begun - AROUND_NS <= s.at_ns <= ended + AROUND_NS
        and s.values is not None
        and "breaker_open" in s.values
    ]
    if not values:
        return None
    return "open" if max(values) > 0 else "closed"


def _samples(facts: Facts, hop: str) -> list[PageSample]:
    return [s for s in facts.beside.pages if s.hop == hop and s.values is not None]


def _rise(first: PageSample, last: PageSample, name: str) -> float | None:
    before_, after = (first.values or {}).get(name), (last.values or {}).get(name)
    return None if before_ is None or after is None or after < before_ else after - before_


def _begun(facts: Facts, hop: Hop, deployment: Deployment) -> list[int]:
    """When each request of ours began that entered the hop's way."""
    passing = {h.name for h in before(deployment, hop.name)}
    return [
        round_.exchange.begun_ns
        for session in facts.sessions
        if session.hop in passing
        for round_ in session.rounds
    ]


def unread_pages(facts: Facts) -> list[str]:
    """Hops whose pages of counters did not come, or never held anything that is known."""
    silent = {s.hop for s in facts.counters if s.values is None}
    read = [s for s in facts.counters if s.values is not None]
    empty = {s.hop for s in read} - {s.hop for s in read if s.values} - silent
    return [
        *(f"`{name}`: its metrics page did not answer every time" for name in sorted(silent)),
        *(
            f"`{name}`: its metrics page shows no counters that are known here, its state was not "
            "read"
            for name in sorted(empty)
        ),
    ]
