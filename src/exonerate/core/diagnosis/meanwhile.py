"""What the rest of the system did while a victim round was waiting for its answer.

Gauges lie during a hang, so what counts is change over at least three readings, and a load only
with a sign of its age (`freshness`); and our own probes must not be taken for somebody else's
load, so requests in flight are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import next_hops
from exonerate.core.diagnosis.facts import CounterSample, Facts, Round, Session
from exonerate.core.diagnosis.freshness import (
    asked_ns,
    believable,
    dated,
    idles,
    load_of,
    silent,
    spaced,
)
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.instant import NS_PER_MS, seconds_between

SAMPLES_MIN = 3
PROGRESS_COUNTERS = ("steps", "generated_tokens", "prompt_tokens")
FLAT_S_MIN, STUCK_S_MIN = 1.0, 3.0
HOLDING_S_MIN = 2.0
"""The probes that are answered meanwhile cut the quiet time into pieces."""
MOSTLY = 0.75
ROTATED_MIN = 2
TELL_ABORTS = frozenset({"aborted", "pair_queues"})
"""An engine that shows one of these counts what is given up, from the first time on."""
COUNTER_LAG_NS = 150 * NS_PER_MS


def engine_state(facts: Facts, session: Session, engines: Sequence[str]) -> str | None:
    """`idle`, `progressing`, `queueing`, `stuck` or `holding` during the waiting round.

    `stuck`: it held requests, and nothing moved for anybody; `holding`: it held one without working
    on it, while others were answered. None if it was not seen. The most telling engine counts.
    """
    waiting = session.waiting
    return None if waiting is None else _state_during(facts, session, waiting, engines)


def engine_states(facts: Facts, session: Session, engines: Sequence[str]) -> list[str]:
    """The same, once for each round that was late, as long as they agree; else of the first alone.

    A session that goes on after a late answer waits again, for another request.
    """
    first = engine_state(facts, session, engines)
    if first is None:
        return []
    late = [r for r in session.rounds if session.failed is None and r.outcome == "slow"]
    others = [_state_during(facts, session, round_, engines) for round_ in late[1:]]
    return [first] * (1 + len(others)) if set(others) == {first} else [first]


def _state_during(
    facts: Facts, session: Session, failed: Round, engines: Sequence[str]
) -> str | None:
    states = [_state_of(_look(facts, e, failed), facts, failed) for e in engines]
    seen = [state for state in states if state is not None]
    if session.hop not in engines and _answered_meanwhile(facts, failed, engines):
        # It works for others and answers us as well: that does not explain this wait.
        seen = [state for state in seen if state not in ("queueing", "progressing")]
    for state in ("queueing", "stuck", "holding", "progressing", "idle"):
        if state in seen:
            return state
    return None


def legs(
    hop: Hop, facts: Facts, deployment: Deployment, waiting: Sequence[Session]
) -> Observation | None:
    """Which leg of the pair behind a router held the request, and which had nothing to do."""
    nexts = next_hops(deployment, hop.name)
    prefill = [h.name for h in nexts if h.role == "prefill"]
    decode = [h.name for h in nexts if h.role == "decode"]
    if not prefill or not decode:
        return None
    values = Counter(
        value for session in waiting if (value := _leg(facts, session, prefill, decode)) is not None
    )
    if not values:
        return None
    value, times = values.most_common(1)[0]
    return Observation(hop.name, "legs", value, times, values.total())


def _leg(
    facts: Facts, session: Session, prefill: Sequence[str], decode: Sequence[str]
) -> str | None:
    states = (engine_state(facts, session, prefill), engine_state(facts, session, decode))
    if None in states or "queueing" in states or "progressing" in states:
        return None
    match tuple(state == "idle" for state in states):
        case (True, False):
            return "decode-waits"
        case (False, True):
            return "prefill-waits"
        case (True, True):
            return "neither"
        case _:
            return "both-wait"


def _answered_meanwhile(facts: Facts, failed: Round, engines: Sequence[str]) -> bool:
    """Whether an engine promptly answered a request of ours that was sent during the wait."""
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    return any(
        round_.outcome == "ok"
        and begun < round_.exchange.begun_ns
        and round_.exchange.ended_ns < ended
        for session in facts.sessions
        if session.hop in engines
        for round_ in session.rounds
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """The readings of one engine during a round, from when it can have counted it."""

    samples: list[CounterSample]
    earlier: CounterSample | None
    """The last one before the round."""
    owed: bool
    """Whether a request of ours that was sent to this very engine waited all the time."""


def _look(facts: Facts, engine: str, failed: Round) -> _Look:
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    own = [s for s in facts.counters if s.hop == engine and s.values is not None]
    earlier = [s for s in own if s.at_ns <= begun]
    during = [s for s in own if begun + COUNTER_LAG_NS <= asked_ns(s) and s.at_ns <= ended]
    samples = spaced(during)
    return _Look(samples, earlier[-1] if earlier else None, _owes(facts, engine, samples))


def _owes(facts: Facts, engine: str, samples: Sequence[CounterSample]) -> bool:
    """Whether the engine owed an answer to a request of ours during most of the readings."""
    waiting = [
        round_
        for session in facts.sessions
        if session.hop == engine
        for round_ in session.rounds
        if round_.outcome in ("hang", "slow")
    ]
    owed = [any(_open_at(round_, s.at_ns) for round_ in waiting) for s in samples]
    return bool(owed) and sum(owed) >= MOSTLY * len(owed)


def _state_of(look: _Look, facts: Facts, failed: Round) -> str | None:
    """Judge what moved and who explains it.

    Where nothing moved at all, the load alone tells: requests that are held, or none. Where
    something moved, it is for others if there is more load than we sent; else only a quiet run of
    readings tells, in which no probe of ours but the waiting one was worked on.
    """
    samples = look.samples
    if len(samples) < SAMPLES_MIN:
        return None
    if _flat(samples):
        return _state_when_flat(look, facts, failed)
    in_quiet = _state_in_quiet(_quiet_run(samples, facts, failed))
    if in_quiet == "holding":
        return in_quiet
    held = median(load_of(s) - len(_own_in_flight(facts, s.at_ns)) for s in samples)
    # An engine may count a whole prompt at its end; a wait that was answered needs no more.
    rises_min = 1 if failed.outcome == "slow" else SAMPLES_MIN - 1
    if held > -1 and _moving(samples, rises_min) and not idles(samples):
        # Its load is more than our other requests explain: it holds this one, or others' as well.
        foreign = held > 0 or _victims_crowd(facts, failed)
        waiting = median((s.values or {}).get("waiting", 0.0) for s in samples) > 0
        return "queueing" if waiting and foreign else "progressing"
    if failed.outcome == "slow" and _busy_and_done(samples):
        return "progressing"
    return in_quiet


def _state_when_flat(look: _Look, facts: Facts, failed: Round) -> str | None:
    """Nothing was computed: was there nothing to do, or was it held, or does nobody know?"""
    samples = look.samples
    if silent(samples) and look.owed and failed.outcome == "hang":
        return "stuck"
    if idles(samples):
        return "idle"
    if median(load_of(sample) for sample in samples) == 0:
        # Who owes an answer and shows no load has lost the request, or shows what was long ago.
        return "idle" if dated(samples) or not look.owed else None
    fresh = believable(samples, look.earlier)
    if _rotating(samples, facts):
        return None
    # An engine that reads a long prompt can show nothing for a while, and is not stuck.
    flat_s = seconds_between(samples[0].at_ns, samples[-1].at_ns)
    return "stuck" if fresh and flat_s >= STUCK_S_MIN else None


def _rotating(samples: Sequence[CounterSample], facts: Facts) -> bool:
    """Whether requests of others left the engine, more than were given up: its queues turn.

    So somebody works on them, whatever the counters of tokens say, and nothing is stuck.
    """
    first, last = samples[0], samples[-1]
    if not (last.values or {}).keys() & TELL_ABORTS:
        # Clients that lose patience with an engine that is stuck leave its queues as well.
        return False
    gone = sum(max(0.0, load_of(a) - load_of(b)) for a, b in pairwise(samples))
    ours = sum(
        first.at_ns <= round_.exchange.ended_ns <= last.at_ns
        for session in facts.sessions
        for round_ in session.rounds
    )
    before, after = first.values or {}, last.values or {}
    given_up = after.get("aborted", 0.0) - before.get("aborted", 0.0)
    return gone - ours - given_up >= ROTATED_MIN


def _state_in_quiet(quiet: Sequence[CounterSample]) -> str | None:
    """What the engine did while nobody of ours but those that hung was worked on."""
    if len(quiet) < SAMPLES_MIN:
        return None
    if _moving(quiet, SAMPLES_MIN - 1):
        return "progressing"
    if idles(quiet) or min(load_of(sample) for sample in quiet) == 0:
        return "idle"
    # It was answering others a moment ago, so that what it shows is no older than that.
    flat_s = seconds_between(quiet[0].at_ns, quiet[-1].at_ns)
    held = _flat(quiet) and flat_s >= HOLDING_S_MIN
    return "holding" if held and believable(quiet, None) else None


def _busy_and_done(samples: Sequence[CounterSample]) -> bool:
    """Whether the engine had work nearly all of the time, and some of it was done by the end.

    llama.cpp answers nobody while it reads a prompt: neither what it reads nor what waits shows.
    """
    busy = sum(load_of(sample) > 0 for sample in samples) >= MOSTLY * len(samples)
    return busy and _moving([samples[0], samples[-1]], 1)


def _victims_crowd(facts: Facts, failed: Round) -> bool:
    """Whether other sessions of the victim's own concurrency were under way with this round."""
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    return any(
        session.plan.name.startswith("crowd@")
        and any(r.exchange.begun_ns < ended and begun < r.exchange.ended_ns for r in session.rounds)
        for session in facts.sessions
    )


def _flat(samples: Sequence[CounterSample]) -> bool:
    """Whether every progress counter that the engine has stood still for `FLAT_S_MIN`."""
    if seconds_between(samples[0].at_ns, samples[-1].at_ns) < FLAT_S_MIN:
        return False
    names = {name for s in samples for name in (s.values or {}) if name in PROGRESS_COUNTERS}
    return bool(names) and all(
        len({(s.values or {}).get(name) for s in samples}) == 1 for name in names
    )


def _own_in_flight(facts: Facts, at_ns: int) -> list[Round]:
    """Our own requests that were waiting for an answer at that moment."""
    return [
        round_ for session in facts.sessions for round_ in session.rounds if _open_at(round_, at_ns)
    ]


def _open_at(round_: Round, at_ns: int) -> bool:
    return round_.exchange.begun_ns <= at_ns < round_.exchange.ended_ns


def _quiet_run(
    samples: Sequence[CounterSample], facts: Facts, failed: Round
) -> list[CounterSample]:
    """The longest run of readings between which no probe of ours but the waiting one was worked on.

    A probe's own work may still show in the counters a moment after its answer. One that hung as
    well disturbs only as it comes, when it is counted: nothing came of what was done for it.
    """
    others = [
        (
            round_.exchange.begun_ns,
            COUNTER_LAG_NS
            + (
                round_.exchange.begun_ns
                if round_.exchange.first_byte_ns is None
                else round_.exchange.ended_ns
            ),
        )
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


def _moving(samples: Sequence[CounterSample], rises_min: int) -> bool:
    """Whether a progress counter rose in so many steps between the readings."""
    for name in PROGRESS_COUNTERS:
        values = [s.values[name] for s in samples if s.values and name in s.values]
        rises = sum(later > earlier for earlier, later in pairwise(values))
        if rises >= rises_min:
            return True
    return False
