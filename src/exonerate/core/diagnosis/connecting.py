"""How long a new connection takes before anything is asked: the name, then the handshake.

Both happen before the first byte of a request, between kernels and name servers: what is lost here
no program on the path has lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import Facts, Round
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import seconds_between

TIMES_MIN = 2
SLOW_S = 0.4
"""Names of a local network resolve in milliseconds, a handshake takes one round trip. The first
retransmission of a SYN comes after 1 s (RFC 6298), a resolver's after 5 s (resolv.conf(5))."""


def connecting(hop: Hop, facts: Facts) -> Observation | None:
    """`slow-name` or `slow-handshake`: where new connections to the hop spend their time.

    Seen where it happened twice or more and took longer than all that came after it; `quick`
    where it never did, and only reported when it did at another hop or an answer was late.
    """
    found = list(_new_rounds(facts, hop.name))
    slow = [(kind, round_) for round_ in found if (kind := _slow(round_)) is not None]
    if not slow and found and (_slow_elsewhere(facts) or _late(facts)):
        times = len(found) + _late_on_kept_connections(facts, hop.name)
        return Observation(hop.name, "connecting", "quick", times, times)
    if len(slow) < TIMES_MIN:
        return None
    kinds = {kind for kind, _ in slow}
    if len(kinds) > 1:
        return None
    took = median(_name_s(r) + _handshake_s(r) for _, r in slow)
    text = f"{took:.2f} s before the request"
    return Observation(hop.name, "connecting", kinds.pop(), len(slow), len(found), text)


def connecting_times(facts: Facts, hop: str) -> tuple[float, float] | None:
    """Median seconds that the slow connections spent on the name and on the handshake."""
    slow = [round_ for round_ in _new_rounds(facts, hop) if _slow(round_) is not None]
    if not slow:
        return None
    return median(_name_s(r) for r in slow), median(_handshake_s(r) for r in slow)


def slow_to_connect(round_: Round) -> bool:
    """Whether the round's connection took long, and longer than all that came after it."""
    return _is_new(round_) and _slow(round_) is not None


def _slow_elsewhere(facts: Facts) -> bool:
    rounds = (r for session in facts.sessions for r in session.rounds if _is_new(r))
    return sum(_slow(round_) is not None for round_ in rounds) >= TIMES_MIN


def _late(facts: Facts) -> bool:
    return any(r.outcome == "slow" for session in facts.sessions for r in session.rounds)


def _late_on_kept_connections(facts: Facts, hop: str) -> int:
    """How many answers were late for which nothing had to be connected."""
    rounds = (r for session in facts.sessions if session.hop == hop for r in session.rounds)
    return sum(r.outcome == "slow" and r.exchange.connection.request_number > 1 for r in rounds)


def _new_rounds(facts: Facts, hop: str) -> Iterator[Round]:
    for session in facts.sessions:
        if session.hop == hop:
            yield from (r for r in session.rounds if _is_new(r))


def _is_new(round_: Round) -> bool:
    exchange = round_.exchange
    return exchange.connection.request_number == 1 and exchange.connected_ns is not None


def _name_s(round_: Round) -> float:
    exchange = round_.exchange
    return seconds_between(exchange.begun_ns, exchange.resolved_ns or exchange.begun_ns)


def _handshake_s(round_: Round) -> float:
    exchange = round_.exchange
    assert exchange.connected_ns is not None
    return seconds_between(exchange.resolved_ns or exchange.begun_ns, exchange.connected_ns)


def _slow(round_: Round) -> str | None:
    name_s, handshake_s = _name_s(round_), _handshake_s(round_)
    after_s = round_.wait_s - name_s - handshake_s
    if name_s + handshake_s < max(SLOW_S, after_s):
        return None
    return "slow-name" if name_s > handshake_s else "slow-handshake"
