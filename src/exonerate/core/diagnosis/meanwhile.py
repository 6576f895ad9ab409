"""What the rest of the system did while a victim round was waiting for its answer.

Gauges lie during a hang, so what counts is change over at least three readings; and our own
probes must not be taken for somebody else's load, so requests in flight are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, next_hops
from exonerate.core.diagnosis.facts import CounterSample, Facts, Round, Session, SocketSample
from exonerate.core.instant import NS_PER_MS, seconds_between

SAMPLES_MIN = 3
PROGRESS_COUNTERS = ("steps", "generated_tokens", "prompt_tokens")
COUNTER_LAG_NS = 150 * NS_PER_MS
WATCHED_S_MIN = 0.8
"""A request that has not left a hop after this long is not on its way."""
REQUEST_BYTES_FRACTION = 0.8
"""A request counts as having left the hop when this share of its bytes arrived beyond it."""


def engine_state(facts: Facts, session: Session, engines: Sequence[str]) -> str | None:
    """`idle`, `progressing`, `queueing` or `stuck` during the waiting round; None if not seen."""
    failed = session.waiting
    if failed is None:
        return None
    states = [_state_of(_window(facts.counters, e, failed), facts, failed) for e in engines]
    seen = [state for state in states if state is not None]
    for state in ("queueing", "stuck", "progressing", "idle"):
        if state in seen:
            return state
    return None


def _window(samples: Iterable[CounterSample], engine: str, failed: Round) -> list[CounterSample]:
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    return [
        s for s in samples if s.hop == engine and begun <= s.at_ns <= ended and s.values is not None
    ]


def _state_of(samples: Sequence[CounterSample], facts: Facts, failed: Round) -> str | None:
    """First the load of others, then what the engine did while it had only our waiting one."""
    if len(samples) < SAMPLES_MIN:
        return None
    foreign = [_load(sample) - len(_own_in_flight(facts, sample.at_ns)) for sample in samples]
    if min(foreign) > 0:
        if not _moving(samples):
            return "stuck"
        waiting = min((s.values or {}).get("waiting", 0.0) for s in samples) > 0
        return "queueing" if waiting else "progressing"
    quiet = _quiet_run(samples, facts, failed)
    if len(quiet) < SAMPLES_MIN:
        return None
    if _moving(quiet):
        return "progressing"
    return "stuck" if min(_load(sample) for sample in quiet) > 0 else "idle"


def _load(sample: CounterSample) -> float:
    values = sample.values or {}
    return values.get("running", 0.0) + values.get("waiting", 0.0)


def _own_in_flight(facts: Facts, at_ns: int) -> list[Round]:
    """Our own requests that were waiting for an answer at that moment."""
    return [
        round_
        for session in facts.sessions
        for round_ in session.rounds
        if round_.exchange.begun_ns <= at_ns < round_.exchange.ended_ns
    ]


def _quiet_run(
    samples: Sequence[CounterSample], facts: Facts, failed: Round
) -> list[CounterSample]:
    """The longest run of readings between which no probe of ours but the waiting one was worked on.

    A probe's own work may still show in the counters a moment after its answer.
    """
    others = [
        (round_.exchange.begun_ns, round_.exchange.ended_ns + COUNTER_LAG_NS)
        for session in facts.sessions
        for round_ in session.rounds
        if round_ is not failed
    ]
    longest: list[CounterSample] = []
    run: list[CounterSample] = []
    for sample in samples:
        begin = run[-1].at_ns if run else sample.at_ns
        if any(begun <= sample.at_ns and ended >= begin for begun, ended in others):
            run = []
            if any(begun <= sample.at_ns <= ended for begun, ended in others):
                continue
        run.append(sample)
        longest = max(longest, list(run), key=len)
    return longest


def _moving(samples: Sequence[CounterSample]) -> bool:
    """Whether a progress counter rose in more than one step between the readings."""
    for name in PROGRESS_COUNTERS:
        values = [s.values[name] for s in samples if s.values and name in s.values]
        rises = sum(later > earlier for earlier, later in pairwise(values))
        if rises >= SAMPLES_MIN - 1:
            return True
    return False


def request_left(facts: Facts, session: Session, hop: Hop, deployment: Deployment) -> str | None:
    """Whether the waiting request's bytes left the hop: `no`, `yes`, `answered`; None if unseen.

    Seen by the byte counters of the connections to the next hop that are not our own probes'.
    They tell nothing once another request of ours is under way through the hop, unless nothing at
    all had moved for `WATCHED_S_MIN` by then.
    """
    failed = session.failed
    if failed is None:
        return None
    passing = {other.name for other in before(deployment, hop.name)}
    others = _others_under_way(facts, failed, passing)
    seen = [
        _left_for(facts, session.scene, failed, other, others)
        for other in next_hops(deployment, hop.name)
    ]
    for value in ("answered", "yes"):
        if value in seen:
            return value
    return "no" if seen and all(value == "no" for value in seen) else None


def _others_under_way(facts: Facts, failed: Round, passing: set[str]) -> list[int]:
    """When each other request of ours began that was under way through the hop meanwhile."""
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    return [
        round_.exchange.begun_ns
        for session in facts.sessions
        if session.hop in passing
        for round_ in session.rounds
        if round_ is not failed
        and round_.exchange.begun_ns < ended
        and round_.exchange.ended_ns > begun
    ]


def _left_for(
    facts: Facts, scene: str, failed: Round, hop: Hop, others: Sequence[int]
) -> str | None:
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    samples = [s for s in facts.sockets if s.hop == hop.name and s.scene == scene]
    earlier = [s for s in samples if s.at_ns <= begun]
    during = [s for s in samples if begun < s.at_ns <= ended]
    if not earlier or any(s.rows is None for s in [earlier[-1], *during]):
        return None
    base, ours = _connections(earlier[-1], hop, _own_ports(facts)), _own_ports(facts)
    watched_s = 0.0
    for sample in during:
        state = _carried_more(base, _connections(sample, hop, ours), failed.exchange.request_bytes)
        if state != "no":
            shared = any(start <= sample.at_ns for start in others)
            quiet_before = watched_s >= WATCHED_S_MIN
            return "no" if shared and quiet_before else None if shared else state
        watched_s = seconds_between(begun, sample.at_ns)
    return "no" if watched_s >= WATCHED_S_MIN else None


def _carried_more(
    base: Mapping[int, _Carried], now: Mapping[int, _Carried], request_bytes: int
) -> str | None:
    """Whether some connection carried about one request more than before, and got an answer."""
    left = answered = False
    for port, carried in now.items():
        if carried.closed and port not in base:
            # It came and went between two readings; nobody counted what it carried.
            return None
        was = base.get(port, _Carried())
        if carried.request - was.request >= REQUEST_BYTES_FRACTION * request_bytes:
            left = True
            answered = answered or carried.answer > was.answer
    return "answered" if answered else "yes" if left else "no"


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


def _held_in_round(facts: Facts, scene: str, round_: Round, hop: Hop) -> str | None:
    exchange = round_.exchange
    samples = [s for s in facts.sockets if s.hop == hop.name and s.scene == scene]
    earlier = [s for s in samples if s.at_ns <= exchange.begun_ns]
    first = exchange.first_token_ns or exchange.ended_ns
    during = [s for s in samples if exchange.begun_ns < s.at_ns < first]
    if not earlier or len(during) < 2 or any(s.rows is None for s in [earlier[-1], *during]):
        return None
    ours = _own_ports(facts)
    base = _connections(earlier[-1], hop, ours)
    carried = [
        sum(
            max(0, now.answer - base.get(port, _Carried()).answer)
            for port, now in _connections(sample, hop, ours).items()
        )
        for sample in during
    ]
    return "yes" if len({value for value in carried if value > 0}) >= 2 else "no"


@dataclass(frozen=True, slots=True)
class _Carried:
    """What one connection to a hop has carried so far, in bytes."""

    request: int = 0
    answer: int = 0
    closed: bool = False


def _connections(sample: SocketSample, hop: Hop, ours: set[int]) -> dict[int, _Carried]:
    """Connections to the hop by the port of their client side; our own are left out.

    Both ends of a connection show on one host; either end's counters will do.
    """
    port = urlsplit(hop.url).port or (443 if hop.url.startswith("https") else 80)
    found: dict[int, _Carried] = {}
    for row in sample.rows or ():
        at_hop = row["local_port"] == port
        client_port = int(str(row["peer_port"] if at_hop else row["local_port"]))
        if client_port in ours or row["state"] == "LISTEN":
            continue
        received, sent = int(str(row["received_bytes"] or 0)), int(str(row["sent_bytes"] or 0))
        request, answer = (received, sent) if at_hop else (sent, received)
        known = found.get(client_port, _Carried())
        closed = row["state"] in ("TIME_WAIT", "CLOSE")
        found[client_port] = _Carried(
            max(known.request, request), max(known.answer, answer), known.closed or closed
        )
    return found


def _own_ports(facts: Facts) -> set[int]:
    return {
        round_.exchange.connection.local_port
        for session in facts.sessions
        for round_ in session.rounds
        if round_.exchange.connection.local_port is not None
    }
