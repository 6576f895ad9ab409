"""What sockets carried: whether a request left a hop, how often, and whether it was read at all.

The byte counters of the kernel show a hop's upstream face without a tap. Two views are used: the
sockets of the hop's own process that lead onwards (whoever is at their other end), and, where its
process cannot be looked into, the connections to the next hop that are not our own probes'.
Both tell nothing once another request of ours is under way through the hop, unless nothing at all
had moved for `WATCHED_S_MIN` by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import (
    before,
    hop_named,
    hop_port,
    is_engine,
    next_hops,
    probeable,
)
from exonerate.core.diagnosis.byte_counts import Carried, connections, number_of, onward
from exonerate.core.diagnosis.facts import Facts, Round, Session, SocketSample
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_S, seconds_between

WATCHED_S_MIN = 0.8
"""A request that has not left a hop after this long is not on its way."""
REQUEST_BYTES_FRACTION = 0.8
"""A connection carried the request when this share of its bytes went over it."""
COPIES = ("request-copies", "several")
AFTERMATH_NS = NS_PER_S
"""How long after a quick failure the counters may still be read for what went on."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What became of one request at a hop: `no`, `yes`, `answered`, and over how many connections.

    `elsewhere`: it went to an address that is no hop of the deployment; None where the
    address was not seen. `source`: what showed it, sockets, a log, counters or a tap. `crowded`:
    other clients of the hop sent something meanwhile, which may have gone on as well.
    """

    left: str
    copies: int = 0
    elsewhere: bool | None = False
    source: str = "sockets"
    crowded: bool = False


def passage(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> Passage | None:
    """What became of one request of a session at a hop; None if it was not seen."""
    if is_engine(hop):
        return None
    others = _others_under_way(facts, round_, {h.name for h in before(deployment, hop.name)})
    watched = _Watched(facts, session.scene, round_, tuple(others))
    own = watched.through_process(hop, deployment)
    if own is not None and own.copies > 1 and watched.crowded(hop):
        own = replace(own, crowded=True)
    if own is not None and (own.left != "no" or _proven(facts, session, round_, hop, deployment)):
        return own
    nexts = watched.beyond(hop, deployment)
    for found in nexts:
        if found is not None and found.left != "no":
            return found
    if own is not None and None not in nexts:
        return own
    # Where only the next hop is on this host, what it did not get may be lost on the way.
    if not nexts or None in nexts or not _is_here(facts, hop):
        return None
    return Passage("no")


def _is_here(facts: Facts, hop: Hop) -> bool:
    """Whether this host showed the hop's own end of a connection; of ours, where we made any."""
    ours = facts.own_ports if probeable(hop) else None
    samples = (s for (_, name), seen in facts.sockets.items() if name == hop.name for s in seen)
    # Readings in which nothing had changed share their rows.
    different = {id(sample.rows): sample.rows or () for sample in samples}
    return any(
        row["local_port"] == hop_port(hop)
        and not row.get("up")
        and (ours is None or number_of(row["peer_port"]) in ours)
        for rows in different.values()
        for row in rows
    )


def _proven(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> bool:
    """Whether an earlier request of the session was seen to leave on sockets of the hop's process.

    Then all that the hop sends on is to be seen there, and others that talk to the next hop as well
    cannot be taken for it.
    """
    earlier = [r for r in session.rounds if r.exchange.round < round_.exchange.round]
    views = (
        _Watched(facts, session.scene, r, ()).through_process(hop, deployment) for r in earlier
    )
    return any(found is not None and found.left != "no" for found in views)


def upstream_in_sight(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> bool:
    """Whether the hop's upstream side was seen to carry requests of this size meanwhile.

    Which of several requests of ours it carried does not matter here, as it does for `passage`.
    """
    if is_engine(hop):
        return False
    watched = _Watched(facts, session.scene, round_, ())
    views = [watched.through_process(hop, deployment), *watched.beyond(hop, deployment)]
    return any(found is not None and found.left != "no" for found in views)


def read_state(facts: Facts, session: Session, deployment: Deployment) -> str | None:
    """Whether the program at the session's hop ever took the waiting request from its socket."""
    round_ = session.waiting
    if round_ is None or round_.outcome != "hang" or round_.exchange.connection.local_port is None:
        return None
    port = hop_port(hop_named(deployment, session.hop))
    mine = round_.exchange.connection.local_port
    late = [s for s in _during(facts, session.scene, session.hop, round_) if s.rows is not None]
    rows = [
        row
        for sample in late[-3:]
        for row in sample.rows or ()
        if row["local_port"] == port and row["peer_port"] == mine
    ]
    if len(rows) < 3:
        return None
    if all(row.get("accepted") is False for row in rows):
        return "not-accepted"
    unread = min(number_of(row.get("unread_bytes")) for row in rows)
    return "unread" if unread > 0 else "read"


def leg_answered(
    hop: Hop, facts: Facts, deployment: Deployment, waiting: Sequence[Session]
) -> Observation | None:
    """Whether an engine of a pair answered what its router sent it of the requests that wait."""
    if hop.role not in ("prefill", "decode"):
        return None
    found: list[str] = []
    for session in waiting:
        round_ = session.waiting
        if round_ is None:
            continue
        passing = {h.name for h in before(deployment, hop.name)}
        others = tuple(_others_under_way(facts, round_, passing))
        passed = _Watched(facts, session.scene, round_, others).to_next(hop)
        if passed is not None and passed.left != "no":
            found.append("yes" if passed.left == "answered" else "no")
    if not found:
        return None
    value = max(("yes", "no"), key=found.count)
    return Observation(hop.name, "leg-answered", value, found.count(value), len(found))


def answer_held(facts: Facts, session: Session, hop: Hop, deployment: Deployment) -> str | None:
    """`yes` when answer bytes kept arriving at the hop while its client had none; None if unseen.

    Judged on the rounds of the session in which at least two readings of the byte counters fell
    between the request and the client's first token.
    """
    values = [
        held
        for round_ in session.rounds
        for other in next_hops(deployment, hop.name)
        if (held := _held_in_round(facts, session.scene, round_, other)) is not None
    ]
    return None if not values else "yes" if values.count("yes") * 2 > len(values) else "no"


@dataclass(frozen=True, slots=True)
class _Watched:
    """One round and what else of ours was under way."""

    facts: Facts
    scene: str
    round: Round
    others: tuple[int, ...]

    def through_process(self, hop: Hop, deployment: Deployment) -> Passage | None:
        """Seen on the onward sockets of the hop's own process."""
        return self._judge(
            hop, lambda sample: onward(sample) if sample.process_seen else None, deployment
        )

    def _last_before(self, hop: Hop) -> Sequence[SocketSample]:
        """The last reading before the request, or none."""
        samples = self.facts.sockets.get((self.scene, hop.name), ())
        return [s for s in samples if s.at_ns <= self.round.exchange.begun_ns][-1:]

    def crowded(self, hop: Hop) -> bool:
        """Whether the hop got bytes meanwhile on a connection that is none of ours."""
        earlier = self._last_before(hop)
        during = _during(self.facts, self.scene, hop.name, self.round)
        base = {port: got for s in earlier for port, got in self._from_others(s, hop)}
        now = ((port, got) for s in during for port, got in self._from_others(s, hop))
        return any(got > base.get(port, 0) for port, got in now)

    def _from_others(self, sample: SocketSample, hop: Hop) -> Iterator[tuple[int, int]]:
        for row in sample.rows or ():
            client = number_of(row["peer_port"])
            if row["local_port"] == hop_port(hop) and client not in self.facts.own_ports:
                yield client, number_of(row["received_bytes"])

    def beyond(self, hop: Hop, deployment: Deployment) -> list[Passage | None]:
        """Seen on the connections to each next hop; none where a stranger's could be taken for it.

        So it is where the hop's own process was first looked into when the round was under way:
        its connections cannot be told from others' by what they had carried before.
        """
        earlier = self._last_before(hop)
        during = _during(self.facts, self.scene, hop.name, self.round)
        if any(s.process_seen for s in during) and not any(s.process_seen for s in earlier):
            return []
        return [self.to_next(other) for other in next_hops(deployment, hop.name)]

    def to_next(self, hop: Hop) -> Passage | None:
        """Seen on the connections to the next hop."""
        ours = self.facts.own_ports
        return self._judge(hop, lambda sample: connections(sample, hop, ours), None)

    def _judge(
        self,
        hop: Hop,
        view: Callable[[SocketSample], Mapping[str, Carried] | None],
        deployment: Deployment | None,
    ) -> Passage | None:
        begun = self.round.exchange.begun_ns
        samples = self.facts.sockets.get((self.scene, hop.name), ())
        earlier = [s for s in samples if s.at_ns <= begun]
        during = _during(self.facts, self.scene, hop.name, self.round)
        if not earlier or any(s.rows is None for s in [earlier[-1], *during]):
            return None
        base = view(earlier[-1])
        if base is None:
            return None
        watched_s, over = 0.0, False
        best: Passage | None = None
        for sample in during:
            now = view(sample)
            found = None if now is None else _carried_more(base, now, self.round, deployment)
            if found is None:
                return best
            shared = any(start <= sample.at_ns for start in self.others)
            if found.left != "no" and shared:
                quiet_before = watched_s >= WATCHED_S_MIN
                return best or (Passage("no") if quiet_before else None)
            if found.left != "no":
                best = found
            watched_s = seconds_between(begun, sample.at_ns)
            over = over or sample.at_ns >= self.round.exchange.ended_ns
        return best or (Passage("no") if over or watched_s >= WATCHED_S_MIN else None)


def _during(facts: Facts, scene: str, hop: str, round_: Round) -> list[SocketSample]:
    """Readings while the round lasted, and shortly after it when it failed at once."""
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    until = max(ended, begun + AFTERMATH_NS)
    samples = facts.sockets.get((scene, hop), ())
    return [s for s in samples if begun < s.at_ns <= until]


def _others_under_way(facts: Facts, own: Round, passing: set[str]) -> list[int]:
    """When each other request of ours began that was under way through the hop meanwhile."""
    begun = own.exchange.begun_ns
    until = max(own.exchange.ended_ns, begun + AFTERMATH_NS)
    return [
        round_.exchange.begun_ns
        for session in facts.sessions
        if session.hop in passing
        for round_ in session.rounds
        if round_ is not own
        and round_.exchange.begun_ns < until
        and round_.exchange.ended_ns > begun
    ]


def _carried_more(
    base: Mapping[str, Carried],
    now: Mapping[str, Carried],
    round_: Round,
    deployment: Deployment | None,
) -> Passage | None:
    """Which connections carried about one request more than before, and got an answer."""
    copies, answered, elsewhere = 0, False, False
    for key, carried in now.items():
        if carried.closed and key not in base:
            # It came and went between two readings; nobody counted what it carried.
            return None
        was = base.get(key, Carried())
        more = carried.request - was.request
        if more >= REQUEST_BYTES_FRACTION * round_.exchange.request_bytes:
            copies += max(1, round(more / round_.exchange.request_bytes))
            answered = answered or carried.answer > was.answer
            elsewhere = elsewhere or not _known_peer(carried.peer, deployment)
    left = "answered" if answered else "yes" if copies else "no"
    return Passage(left, copies, elsewhere)


def _known_peer(peer: str | None, deployment: Deployment | None) -> bool:
    if peer is None or deployment is None:
        return True
    return any(peer.endswith(f":{hop_port(hop)}") for hop in deployment.hops)


def _held_in_round(facts: Facts, scene: str, round_: Round, hop: Hop) -> str | None:
    exchange = round_.exchange
    samples = facts.sockets.get((scene, hop.name), ())
    earlier = [s for s in samples if s.at_ns <= exchange.begun_ns]
    first = exchange.first_token_ns or exchange.ended_ns
    during = [s for s in samples if exchange.begun_ns < s.at_ns < first]
    if not earlier or len(during) < 2 or any(s.rows is None for s in [earlier[-1], *during]):
        return None
    ours = facts.own_ports
    base = connections(earlier[-1], hop, ours)
    carried = [
        sum(
            max(0, now.answer - base.get(port, Carried()).answer)
            for port, now in connections(sample, hop, ours).items()
        )
        for sample in during
    ]
    return "yes" if len({value for value in carried if value > 0}) >= 2 else "no"


def copies_at_engines(
    found: Sequence[Observation], deployment: Deployment
) -> Iterator[Observation]:
    """An engine that is asked the same several times is busy with that."""
    several = {o.hop: o for o in found if (o.observable, o.value) == COPIES}
    for hop in deployment.hops:
        sources = [several[h.name] for h in before(deployment, hop.name) if h.name in several]
        if is_engine(hop) and sources:
            most = max(sources, key=lambda source: source.times)
            yield replace(most, hop=hop.name)
