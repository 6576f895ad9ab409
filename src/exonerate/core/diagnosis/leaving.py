"""What became of our own request behind a hop when we had left in mid-answer.

An abort probe opens a connection, asks for a long answer and leaves. Just then the hop's process
sends about that many bytes on, over one socket: that socket carries our request. It has to be
closed soon after; while it stands and is our request's own, or its answer keeps coming, the hop
has not passed the leaving on. Other clients' load does not disturb this, as it does counters.

Not to tell an engine of a leaving does harm only where clients leave. So the hop must have had
*orphans* before we left anything ourselves: more requests behind it that wait for an answer than
connections before it. Some proxies keep a request that has no answer yet, and are not to blame for
an engine that is full of work for clients who wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, hop_port, is_engine, next_hops
from exonerate.core.diagnosis.facts import Facts, Round, SocketSample
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_MS
from exonerate.core.json_types import JsonObject

SENT_ON_NS = 700 * NS_PER_MS
"""Within this time a hop has sent a request on."""
GRACE_NS = 900 * NS_PER_MS
"""Within this time after the client left, the hop has closed the request's connection."""
UNTIL_NS = 1600 * NS_PER_MS
SAMPLES_MIN = 3
BYTES_LEAST, BYTES_MOST = 0.8, 1.8
"""Request bytes behind the hop over those before it: headers come and go."""


def leaving(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """`passed-on`, `kept` or `kept-without-harm`; `kept-before` where an outer hop keeps it."""
    outer = [other for other in before(deployment, hop.name) if other != hop]
    seen = [(box, _of_box(box, facts, deployment)) for box in outer if not is_engine(box)]
    kept = [
        len(values)
        for box, values in seen
        if set(values) == {"kept"} and _has_orphans(box, facts, deployment)
    ]
    if kept:
        return Observation(hop.name, "leaving", "kept-before", max(kept), max(kept))
    if is_engine(hop):
        passed = [len(values) for _, values in seen if set(values) == {"passed-on"}]
        if not seen or len(passed) < len(seen):
            return None
        return Observation(hop.name, "leaving", "passed-on", min(passed), min(passed))
    values = _of_box(hop, facts, deployment)
    if not values or len(set(values)) > 1:
        return None
    value = values[0]
    if value == "kept" and not _has_orphans(hop, facts, deployment):
        value = "kept-without-harm"
    return Observation(hop.name, "leaving", value, len(values), len(values))


def _of_box(hop: Hop, facts: Facts, deployment: Deployment) -> list[str]:
    """What the hop did each time that its own client had left.

    A request that entered further out tells of this hop when all boxes between passed it on.
    """
    entries = {other.name for other in before(deployment, hop.name)}
    found: list[str | None] = []
    for session in facts.sessions:
        if session.hop not in entries or session.plan.name != f"abort@{session.hop}":
            continue
        inside = {session.hop, *(h.name for h in beyond(deployment, session.hop))}
        between = [h for h in before(deployment, hop.name) if h.name in inside and h != hop]
        for round_ in session.rounds:
            if round_.exchange.given_up != "deadline":
                continue
            states = [_after_leaving(facts, session.scene, h, round_) for h in between]
            if all(state == "passed-on" for state in states):
                found.append(_after_leaving(facts, session.scene, hop, round_))
    return [value for value in found if value is not None]


def surplus(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """`more` where more requests wait behind the hop than it has clients, or else `as-many`.

    Of an engine: what holds of any box before it.
    """
    boxes = [hop]
    if is_engine(hop):
        boxes = [other for other in before(deployment, hop.name) if not is_engine(other)]
    counts = [_surplus(box, facts, deployment) for box in boxes]
    seen = [values for values in counts if len(values) >= SAMPLES_MIN]
    more = [values for values in seen if median(values) >= 1]
    if more:
        times = max(sum(value >= 1 for value in values) for values in more)
        return Observation(hop.name, "requests-behind", "more", times, max(map(len, more)))
    if not seen or len(seen) < len(boxes):
        return None
    times = min(map(len, seen))
    return Observation(hop.name, "requests-behind", "as-many", times, times)


def without_borrowed_copies(seen: Sequence[Observation]) -> list[Observation]:
    """Without copies of a request behind a hop that never had more requests than clients.

    Connections of other clients that became busy with ours look like copies of it.
    """
    equal = {
        o.hop
        for o in seen
        if (o.observable, o.value) == ("requests-behind", "as-many") and o.times >= SAMPLES_MIN
    }
    borrowed = ("request-copies", "several")
    return [o for o in seen if o.hop not in equal or (o.observable, o.value) != borrowed]


def _has_orphans(hop: Hop, facts: Facts, deployment: Deployment) -> bool:
    """Whether more requests waited behind the hop than clients before it, before we left any."""
    counts = _surplus(hop, facts, deployment)
    return len(counts) >= SAMPLES_MIN and median(counts) >= 1


def _surplus(hop: Hop, facts: Facts, deployment: Deployment) -> list[int]:
    """Requests behind the hop less the clients before it, reading by reading, until we left one.

    Only where a request waited behind it at all.
    """
    first_left_ns = min(
        (
            round_.exchange.ended_ns
            for session in facts.sessions
            for round_ in session.rounds
            if round_.exchange.given_up != "no"
        ),
        default=facts.ended_ns,
    )
    ports = {hop_port(other) for other in next_hops(deployment, hop.name)}
    found: list[int] = []
    if hop.url.startswith("https:"):
        # One connection may carry many requests there.
        return found
    for (_, name), group in facts.sockets.items():
        for sample in group if name == hop.name else ():
            waiting = _waiting_behind(sample, ports)
            if sample.process_seen and sample.at_ns < first_left_ns and waiting:
                found.append(waiting - _clients(sample, hop_port(hop), ports))
    return found


def _waiting_behind(sample: SocketSample, ports: set[int]) -> int:
    """Connections to the next hop over which a request went, and not a byte came back."""
    return sum(
        _leads_to(row, ports) and row["sent_bytes"] != 0 and row["received_bytes"] == 0
        for row in _onward(sample).values()
    )


def _clients(sample: SocketSample, port: int, next_ports: set[int]) -> int:
    """Connections to the hop; what else its process has open may be clients at another port."""
    own = sum(
        row["local_port"] == port and row["state"] == "ESTABLISHED" for row in sample.rows or ()
    )
    return own + sum(not _leads_to(row, next_ports) for row in _onward(sample).values())


def _leads_to(row: JsonObject, ports: set[int]) -> bool:
    return any(str(row.get("peer", "")).endswith(f":{port}") for port in ports)


def _after_leaving(facts: Facts, scene: str, hop: Hop, round_: Round) -> str | None:
    samples = facts.sockets.get((scene, hop.name), ())
    begun, ended = round_.exchange.begun_ns, round_.exchange.ended_ns
    earlier = [s for s in samples if s.at_ns <= begun]
    early = [s for s in samples if begun < s.at_ns <= min(ended, begun + SENT_ON_NS)]
    after = [s for s in samples if ended + GRACE_NS <= s.at_ns <= ended + UNTIL_NS]
    if not earlier or not early or not after or not after[-1].process_seen:
        return None
    base, sent = _onward(earlier[-1]), _onward(early[-1])
    size = round_.exchange.request_bytes
    carried = [
        port
        for port, row in sent.items()
        if BYTES_LEAST * size <= _more(row, base.get(port), "sent_bytes") <= BYTES_MOST * size
    ]
    if len(carried) != 1:
        return None
    (port,) = carried
    last = _onward(after[-1]).get(port)
    if last is None:
        return "passed-on"
    grown = _more(last, _onward(after[0]).get(port), "received_bytes") > 0
    # A pooled connection may stand for another request by now, unless its answer goes on.
    return "kept" if port not in base or grown else None


def _onward(sample: SocketSample) -> dict[str, JsonObject]:
    """The hop's own established sockets that lead onwards, by their port."""
    return {
        str(row["local_port"]): row
        for row in sample.rows or ()
        if row.get("up") and row.get("state") == "ESTABLISHED"
    }


def _more(row: JsonObject, earlier: JsonObject | None, name: str) -> int:
    was = earlier[name] if earlier is not None else 0
    now = row[name]
    return now - was if isinstance(now, int) and isinstance(was, int) else 0
