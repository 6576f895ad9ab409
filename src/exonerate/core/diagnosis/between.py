"""What crossed a tap before the next hop: the face between two hops, request by request.

A tap sees every byte on its way, so that it also shows that a request did not come: where requests
of ours that entered further out have crossed it with their ids, one that is missing stayed behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, next_hops
from exonerate.core.diagnosis.carried import WATCHED_S_MIN, Passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.instant import NS_PER_MS
from exonerate.core.wire.tapped import TappedExchange

ARRIVALS_MIN = 2
AHEAD_MS_MIN = 50.0


def tapped_passage(facts: Facts, round_: Round, hop: Hop, deployment: Deployment) -> Passage | None:
    """What became of one request at a hop, by the taps before its next hops."""
    nexts = next_hops(deployment, hop.name)
    if not facts.beside.tapped or not nexts:
        return None
    crossed = [t for other in nexts for t in _crossings(facts, round_, other)]
    if crossed:
        answered = any(tapped.answer_bytes for tapped in crossed)
        copies = len({_place(tapped) for tapped in crossed})
        return Passage("answered" if answered else "yes", copies, source="tap")
    if round_.total_s < WATCHED_S_MIN and round_.exchange.given_up != "no":
        return None
    in_sight = all(_in_sight(facts, other, hop, deployment) for other in nexts)
    return Passage("no", source="tap") if in_sight else None


def broke_off_at_tap(facts: Facts, round_: Round, hop: Hop, deployment: Deployment) -> bool:
    """Whether a tap saw the next hop break this exchange off."""
    crossed = [
        t for other in next_hops(deployment, hop.name) for t in _crossings(facts, round_, other)
    ]
    return any(t.ended_by == "hop" and t.how in ("fin", "reset", "refused") for t in crossed)


def held_at_tap(facts: Facts, session: Session, hop: Hop, deployment: Deployment) -> str | None:
    """`yes` when tokens had crossed the tap while the client had none; None where none was seen."""
    if not facts.beside.tapped:
        return None
    values = [
        held
        for round_ in session.rounds
        for other in next_hops(deployment, hop.name)
        for tapped in _crossings(facts, round_, other)
        if (held := _held(round_, tapped)) is not None
    ]
    return None if not values else "yes" if values.count("yes") * 2 > len(values) else "no"


def unused_taps(facts: Facts, deployment: Deployment) -> list[str]:
    """Taps that no request of ours crossed: the hop before does not send there."""
    if not facts.sessions:
        return []
    crossed = {tapped.exchange.hop for tapped in facts.beside.tapped}
    return [
        f"the tap before `{hop.name}`: no request crossed it; does the hop before it send there?"
        for hop in deployment.hops
        if hop.tap is not None and hop.name not in crossed
    ]


def _held(round_: Round, tapped: TappedExchange) -> str | None:
    first_ns = round_.exchange.first_token_ns
    if first_ns is None or len(tapped.exchange.arrivals_ms) <= ARRIVALS_MIN:
        return None
    waited_ms = (first_ns - tapped.exchange.begun_ns) / NS_PER_MS
    early = [ms for ms in tapped.exchange.arrivals_ms if ms < waited_ms]
    ahead_ms = waited_ms - tapped.exchange.arrivals_ms[0]
    return "yes" if len(early) >= ARRIVALS_MIN and ahead_ms >= AHEAD_MS_MIN else "no"


def _crossings(facts: Facts, round_: Round, hop: Hop) -> list[TappedExchange]:
    """The exchanges before a hop that carried this request, each as it was last seen."""
    own = round_.exchange.request_id
    found = [t for t in _before(facts, hop) if own and t.asked.request_id == own]
    return list({_place(tapped): tapped for tapped in found}.values())


def _in_sight(facts: Facts, other: Hop, hop: Hop, deployment: Deployment) -> bool:
    """Whether requests of ours that passed the hop were seen before the next one."""
    passing = {h.name for h in before(deployment, hop.name)}
    ours = {
        round_.exchange.request_id
        for session in facts.sessions
        if session.hop in passing
        for round_ in session.rounds
    }
    return any(t.asked.request_id in ours for t in _before(facts, other) if t.asked.request_id)


def _before(facts: Facts, hop: Hop) -> Sequence[TappedExchange]:
    return [t for t in facts.beside.tapped if t.exchange.hop == hop.name]


def _place(tapped: TappedExchange) -> tuple[int, int]:
    connection = tapped.exchange.connection
    return connection.ordinal, connection.request_number
