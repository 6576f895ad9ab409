"""From facts to observables: what was seen of each hop, in the words of `vocabulary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, is_engine, probeable
from exonerate.core.diagnosis.aborts import aborts
from exonerate.core.diagnosis.aside import fresh_session, meanwhile, small_meanwhile
from exonerate.core.diagnosis.between import held_at_tap
from exonerate.core.diagnosis.captured import held_in_packets, onward_in_packets
from exonerate.core.diagnosis.carried import (
    answer_held,
    copies_at_engines,
    leg_answered,
    read_state,
)
from exonerate.core.diagnosis.companions import failed_companions, whole_copies
from exonerate.core.diagnosis.connecting import connecting, slow_to_connect
from exonerate.core.diagnosis.control import control_slow, processor_wait
from exonerate.core.diagnosis.counted import breaker
from exonerate.core.diagnosis.delivery import answer_lost, delivered, onward_delivered, pool_state
from exonerate.core.diagnosis.dependence import idle_dependence, next_idle, size_dependence
from exonerate.core.diagnosis.endings import (
    defect_kind,
    ended_after_at,
    ended_by,
    ended_itself,
    error_said,
    kept_up,
    merely_late,
    one_ending,
    period,
    phase,
)
from exonerate.core.diagnosis.engine_process import engine_process
from exonerate.core.diagnosis.faces import (
    blames_next,
    passage_of,
    request_copies,
    upstream_face,
)
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.gpus import gpu_failed, gpu_slowed
from exonerate.core.diagnosis.leaving import leaving, surplus, without_borrowed_copies
from exonerate.core.diagnosis.logged import by_source
from exonerate.core.diagnosis.meanwhile import engine_states, legs
from exonerate.core.diagnosis.situations import deep_health, engine_health
from exonerate.core.diagnosis.speakers import spoken_by
from exonerate.core.diagnosis.stepping import steps
from exonerate.core.diagnosis.streaming import innermost, stream_shape
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.texts import closed_while_idle, load_text, same_text, texts_past
from exonerate.core.diagnosis.vocabulary import ANSWERED, BROKEN_OFF, VALUES
from exonerate.core.diagnosis.walk_sessions import walks_through
from exonerate.core.diagnosis.watchdogs import engine_said, watchdog

LATE_TRIES_MIN = 3
"""So many sessions tell an entry that is late as a rule from one that was late by chance."""


def observations(facts: Facts, deployment: Deployment) -> list[Observation]:
    """Every observable that has been seen, for every hop."""
    found: list[Observation] = []
    for hop in deployment.hops:
        found.extend(without_borrowed_copies(_of_hop(hop, facts, deployment)))
    return [*found, *copies_at_engines(found, deployment), *texts_past(found, deployment)]


def symptom(session: Session, reference: Sequence[Session]) -> str:
    """How a session went as a whole; `reference` are sessions past the hop, to compare shapes."""
    failed = session.failed
    if failed is not None:
        return failed.outcome
    shape = stream_shape(session, reference)
    late = session.waiting is not None or any(slow_to_connect(r) for r in session.rounds)
    return "slow" if late and shape == "ok" else shape


def victim_sessions(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """Conclusive sessions in the victim's own shape that entered at one of these hops."""
    names = {hop.name for hop in hops}
    return [s for s in facts.sessions if s.hop in names and s.victim_shaped and s.conclusive]


def _of_hop(hop: Hop, facts: Facts, deployment: Deployment) -> list[Observation]:
    past = [other for other in beyond(deployment, hop.name) if probeable(other)]
    passing = [other for other in before(deployment, hop.name) if probeable(other)]
    reference = victim_sessions(facts, past)
    through = victim_sessions(facts, passing)
    crowded = load_text(hop, facts, deployment)
    inner = innermost(reference, deployment)
    went = one_ending(through, [symptom(s, inner) for s in through])
    late = merely_late(through, reference)
    seen = _by_entry(hop.name, "through", [(s.hop, w) for s, w in zip(through, went, strict=True)])
    found = [
        _with_crowds(seen, crowded),
        _by_entry(
            hop.name,
            "beyond",
            [
                (s.hop, "slow" if s in late else symptom(s, () if s in inner else inner))
                for s in (*reference, *failed_companions(facts, past))
            ],
        ),
        _fails_at(hop.name, [*through, *kept_up(facts, passing)]),
        meanwhile(hop.name, "fresh-meanwhile", facts, {hop.name}),
        small_meanwhile(hop.name, facts),
        meanwhile(hop.name, "beyond-meanwhile", facts, {other.name for other in past}),
        fresh_session(hop.name, facts),
        _answer_held(hop, facts, deployment, through),
        *_while_waiting(hop, facts, deployment, through),
        *_endings(hop, through, facts, deployment),
        *aborts(hop, facts, deployment),
        _tally(hop.name, "spoken-by", spoken_by(facts, deployment, through)),
        leaving(hop, facts, deployment),
        surplus(hop, facts, deployment),
        *_of_engine(hop, facts, through),
        same_text(hop, facts, deployment),
        crowded,
        control_slow(hop, facts),
        processor_wait(hop, facts),
        closed_while_idle(hop, through, deployment),
        *_of_the_way(hop, facts, deployment, through),
        breaker(hop, facts, through),
        engine_health(hop, facts, through),
        deep_health(hop, facts, through),
    ]
    return [observation for observation in found if observation is not None]


def _of_engine(hop: Hop, facts: Facts, through: Sequence[Session]) -> list[Observation | None]:
    """What its process, its counters, its own log and its host's GPUs say of an engine."""
    if not is_engine(hop):
        return []
    return [
        engine_process(hop, facts),
        steps(hop, facts, through),
        watchdog(hop, facts, through),
        engine_said(hop, facts),
        gpu_failed(hop, facts),
        gpu_slowed(hop, facts, through),
    ]


def _with_crowds(seen: Observation | None, crowded: Observation | None) -> Observation | None:
    """A victim that is well while it is alone is not well where a crowd makes its text wrong."""
    if seen is None or seen.value != "ok" or crowded is None:
        return seen
    if crowded.value not in ("garbled", "foreign"):
        return seen
    return replace(seen, value="corrupt", times=seen.tries, text="in a crowd")


def _while_waiting(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> list[Observation | None]:
    waiting = [s for s in through if s.waiting is not None]
    engines = [hop.name] if is_engine(hop) else _engines(deployment)
    looks = [(s, s.waiting) for s in waiting if s.waiting is not None]
    found = [passage_of(facts, session, round_, hop, deployment) for session, round_ in looks]
    # What was answered late tells nothing of what was never answered.
    failing = any(s.failed is not None for s, _ in looks)
    passages = [
        p
        for (s, _), p in zip(looks, found, strict=True)
        if p is not None and (s.failed is not None or not failing)
    ]
    states = [
        state
        for (session, _), passed in zip(looks, found, strict=True)
        for state in engine_states(facts, session, engines)
        # What an engine does for others says nothing of a request that never set out for it.
        if passed is None or passed.left != "no" or state in ("idle", "stuck")
    ]
    gone = [p for p in passages if p.left != "no"]
    entered = [s for s in waiting if s.hop == hop.name]
    read = [read_state(facts, s, deployment) for s in entered]
    return [
        _tally(hop.name, "engine-meanwhile", states),
        by_source(_tally(hop.name, "request-left", [p.left for p in passages]), passages),
        request_copies(hop, facts, deployment, through),
        _tally(
            hop.name,
            "left-to",
            ["elsewhere" if p.elsewhere else "next" for p in gone if p.elsewhere is not None],
        ),
        _tally(hop.name, "request-read", [value for value in read if value]),
        upstream_face(hop, facts, deployment, through),
        legs(hop, facts, deployment, waiting),
        leg_answered(hop, facts, deployment, waiting),
    ]


def _engines(deployment: Deployment) -> list[str]:
    return [hop.name for hop in deployment.hops if is_engine(hop)]


def _of_the_way(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> list[Observation | None]:
    """What connections, kernels and the passing of time say about the hop."""
    failed = [s for s in through if s.failed is not None]
    own = [delivered(facts, s) for s in failed if s.hop == hop.name]
    passing = [] if is_engine(hop) else failed
    walked = walks_through(facts, before(deployment, hop.name))
    lost = [answer_lost(facts, s, deployment) for s in failed if s.hop == hop.name]
    onward = [
        onward_delivered(facts, s, hop, deployment) or onward_in_packets(facts, s, hop, deployment)
        for s in passing
    ]
    pools = [pool_state(facts, s, hop, deployment) for s in passing]
    return [
        _tally(hop.name, "delivered", [value for value in own if value]),
        _tally(hop.name, "answer-lost", [value for value in lost if value]),
        _tally(hop.name, "onward-delivered", [value for value in onward if value]),
        _tally(hop.name, "pool", [value for value in pools if value]),
        idle_dependence(hop, through),
        size_dependence(hop, [*through, *walked]),
        next_idle(hop, facts, through, deployment),
        connecting(hop, facts),
    ]


def _endings(
    hop: Hop, through: Sequence[Session], facts: Facts, deployment: Deployment
) -> list[Observation | None]:
    bad = [s.failed for s in through if s.failed is not None]
    ends = [
        "upstream" if blames_next(facts, s, s.failed, hop, deployment) else ended_by(s.failed)
        for s in through
        if s.failed is not None
    ]
    if not bad:
        return []
    past = whole_copies(facts, beyond(deployment, hop.name))
    ended = [s for s in kept_up(facts, before(deployment, hop.name)) if ended_itself(s)]
    after = ended_after_at(hop.name, [*through, *ended], past)
    kind, said = defect_kind(bad), error_said(bad)
    count = len(bad)
    return [
        _tally(hop.name, "ended-by", ends),
        _tally(hop.name, "phase", [phase(round_) for round_ in bad]),
        Observation(hop.name, "ended-after", after, count, count) if after else None,
        Observation(hop.name, "error-said", said, count, count) if said else None,
        Observation(hop.name, "defect-kind", kind, count, count) if kind else None,
        period(hop, facts, deployment),
    ]


def _by_entry(hop: str, name: str, values: Sequence[tuple[str, str]]) -> Observation | None:
    """One symptom for all entries; `not-everywhere` when some entry never showed it."""
    clean = {entry for entry, _ in values} - {e for e, value in values if value not in ANSWERED}
    bad = [value for _, value in values if value not in ANSWERED]
    if len(set(bad)) > 1 and set(bad) <= BROKEN_OFF and not _each_its_own(values):
        # Where in the answer the same cut falls decides what it looks like.
        values = [(entry, "cut" if value in BROKEN_OFF else value) for entry, value in values]
    late = _late_at_some(values) if not bad else 0
    if (clean and bad) or late:
        return Observation(hop, name, "not-everywhere", len(bad) or late, len(values))
    return _tally(hop, name, [value for _, value in values])


def _late_at_some(values: Sequence[tuple[str, str]]) -> int:
    """How many sessions were late, where some entries are late as a rule and others never are."""
    shares: dict[str, list[bool]] = {}
    for entry, value in values:
        shares.setdefault(entry, []).append(value == "slow")
    late = [tries for tries in shares.values() if any(tries)]
    never = [tries for tries in shares.values() if not any(tries)]
    as_a_rule = all(sum(tries) > len(tries) / 2 for tries in late)
    enough = all(len(tries) >= LATE_TRIES_MIN for tries in (*late, *never))
    return sum(map(sum, late)) if late and never and as_a_rule and enough else 0


def _each_its_own(values: Sequence[tuple[str, str]]) -> bool:
    """Whether every failing entry has a symptom of its own, so that it is not chance which."""
    kinds: dict[str, set[str]] = {}
    for entry, value in values:
        if value not in ANSWERED:
            kinds.setdefault(entry, set()).add(value)
    different = [one & other for one, other in combinations(kinds.values(), 2)]
    return bool(different) and not any(different)


def _tally(hop: str, name: str, values: Sequence[str]) -> Observation | None:
    if not values:
        return None
    value, times = Counter(values).most_common(1)[0]
    if times < len(values):
        # A fault that comes and goes is one symptom: answers among failures do not hide it.
        bad = Counter(v for v in values if v not in ANSWERED)
        if len(bad) == 1 and name in ("through", "beyond"):
            value, times = bad.most_common(1)[0]
        elif bad:
            value, times = "mixed", len(values)
    if value not in VALUES[name]:
        return None
    return Observation(hop, name, value, times, len(values))


def _fails_at(hop: str, sessions: Sequence[Session]) -> Observation | None:
    numbers = [
        s.failed.exchange.connection.request_number for s in sessions if s.failed is not None
    ]
    reused = [s for s in sessions if s.plan.connection == "reuse"]
    if not numbers or not reused:
        return None
    if set(numbers) == {1}:
        return Observation(hop, "fails-at", "first-request", len(numbers), len(numbers))
    same = len(set(numbers)) == 1
    value = "same-request" if same else "varying"
    text = f"request {numbers[0]}" if same else "requests " + ", ".join(map(str, numbers))
    return Observation(hop, "fails-at", value, len(numbers), len(numbers), text)


def _answer_held(
    hop: Hop, facts: Facts, deployment: Deployment, sessions: Sequence[Session]
) -> Observation | None:
    bursts = [s for s in sessions if s.failed is None]
    seen = [
        answer_held(facts, session, hop, deployment)
        or held_at_tap(facts, session, hop, deployment)
        or held_in_packets(facts, session, hop, deployment)
        for session in bursts
    ]
    return _tally(hop.name, "answer-held", [value for value in seen if value])
