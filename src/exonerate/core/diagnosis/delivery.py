"""Whether the segments of a request were answered by the kernel at the other end.

A program that is stuck, slow or faulty leaves its kernel alone: what we send is acknowledged, read
or not. Segments that are sent again and again without an answer never came to the other host (or
its answers never came back): that is the network, and no program on either side.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import hop_named, hop_port, next_hops
from exonerate.core.diagnosis.byte_counts import number_of
from exonerate.core.diagnosis.carried import REQUEST_BYTES_FRACTION
from exonerate.core.diagnosis.facts import Facts, Round, Session, SocketSample
from exonerate.core.json_types import JsonObject

IN_A_ROW_MIN = 2
"""One segment sent again is loss; two in a row without an answer, 0.6 s and more, are silence."""
LAST_ROWS = 3
POOL_LEADS_NS = 300_000_000
"""What the pool was like is read at most this long before the request."""


def delivered(facts: Facts, session: Session) -> str | None:
    """What became of the waiting request on our own connection: `acked` or `unacked`."""
    round_ = session.waiting
    port = None if round_ is None else round_.exchange.connection.local_port
    if round_ is None or round_.outcome != "hang" or port is None:
        return None
    samples = facts.sockets.get((session.scene, session.hop), ())
    during = _of_port(_between(samples, round_), port)[-LAST_ROWS:]
    if len(during) < LAST_ROWS:
        return None
    if all(_unanswered(row) for row in during):
        return "unacked"
    earlier = [s for s in samples if s.at_ns <= round_.exchange.begun_ns]
    before = _of_port(earlier[-1:], port)
    base = number_of(before[-1].get("sent_bytes")) if before else 0
    more = number_of(during[-1].get("sent_bytes")) - base
    whole = more >= REQUEST_BYTES_FRACTION * round_.exchange.request_bytes
    return "acked" if whole and not _unanswered(during[-1]) else None


def answer_lost(facts: Facts, session: Session, deployment: Deployment) -> str | None:
    """`yes` where the hop's end of our connection sends and nobody answers, `no` where it is quiet.

    Only where the hop's kernel is this host's, so that its end shows as well as ours.
    """
    round_ = session.waiting
    ours = None if round_ is None else round_.exchange.connection.local_port
    if round_ is None or round_.outcome != "hang" or ours is None:
        return None
    samples = _between(facts.sockets.get((session.scene, session.hop), ()), round_)[-LAST_ROWS:]
    port = hop_port(hop_named(deployment, session.hop))
    theirs = [
        row
        for row in _of_port(samples, port)
        if row["peer_port"] == ours and row["state"] == "ESTABLISHED"
    ]
    if len(theirs) < LAST_ROWS:
        return None
    if all(_unanswered(row) for row in theirs):
        return "yes"
    return "no" if not any(number_of(row.get("in_a_row")) for row in theirs) else None


def onward_delivered(
    facts: Facts, session: Session, hop: Hop, deployment: Deployment
) -> str | None:
    """`unacked` where the hop's own connection to the next one sends and nobody answers."""
    round_ = session.waiting
    if round_ is None or round_.outcome != "hang":
        return None
    samples = _between(facts.sockets.get((session.scene, hop.name), ()), round_)[-LAST_ROWS:]
    if len(samples) < LAST_ROWS or not all(s.process_seen for s in samples):
        return None
    ports = _next_ports(hop, deployment)
    trying = [{p for p, row in _onward(s, ports).items() if _unanswered(row)} for s in samples]
    return "unacked" if set.intersection(*trying) else "acked"


def pool_state(facts: Facts, session: Session, hop: Hop, deployment: Deployment) -> str | None:
    """What the hop's connections to the next one were like when a request failed on them.

    `used-closed`: one that the next hop had closed was there, and was used up by the request;
    `kept-closed`: it was there and stayed; `sound`: none was closed. None where it was not seen, or
    a new one was opened meanwhile: then the closed one may have been put away unused.
    """
    round_ = session.failed
    if round_ is None or round_.exchange.connection.request_number == 1:
        return None
    begun = round_.exchange.begun_ns
    samples = facts.sockets.get((session.scene, hop.name), ())
    before = [s for s in samples if begun - POOL_LEADS_NS <= s.at_ns <= begun]
    after = [s for s in samples if begun < s.at_ns][:2]
    if not before or len(after) < 2 or not all(s.process_seen for s in (before[-1], *after)):
        return None
    ports = _next_ports(hop, deployment)
    known = _onward(before[-1], ports)
    closed = {port for port, row in known.items() if row["state"] == "CLOSE_WAIT"}
    if not closed:
        return "sound"
    if any(_onward(sample, ports).keys() - known for sample in after):
        return None
    left = {p for p, row in _onward(after[-1], ports).items() if row["state"] == "CLOSE_WAIT"}
    return "used-closed" if closed - left else "kept-closed"


def _between(samples: Sequence[SocketSample], round_: Round) -> list[SocketSample]:
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    return [s for s in samples if begun < s.at_ns <= ended and s.rows is not None]


def _of_port(samples: Sequence[SocketSample], port: int) -> list[JsonObject]:
    """Our own end of the connection; it shows wherever the hop is."""
    return [
        row
        for sample in samples
        for row in sample.rows or ()
        if row["local_port"] == port and not row.get("up")
    ]


def _onward(sample: SocketSample, ports: frozenset[int]) -> dict[int, JsonObject]:
    return {
        number_of(row["local_port"]): row
        for row in sample.rows or ()
        if row.get("up") and row["peer_port"] in ports
    }


def _next_ports(hop: Hop, deployment: Deployment) -> frozenset[int]:
    return frozenset(hop_port(other) for other in next_hops(deployment, hop.name))


def _unanswered(row: JsonObject) -> bool:
    return number_of(row.get("in_a_row")) >= IN_A_ROW_MIN
