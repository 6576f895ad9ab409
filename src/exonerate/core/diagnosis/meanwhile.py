"""What the rest of the system did while a victim round was waiting for its answer.

Gauges lie during a hang, so what counts is change over at least three readings; and our own
probes must not be taken for somebody else's load, so requests in flight are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from exonerate.core.diagnosis.facts import CounterSample, Facts, Round, Session
from exonerate.core.instant import NS_PER_MS, seconds_between

SAMPLES_MIN = 3
PROGRESS_COUNTERS = ("steps", "generated_tokens", "prompt_tokens")
FLAT_S_MIN, STUCK_S_MIN = 1.0, 3.0
COUNTER_LAG_NS = 150 * NS_PER_MS


def engine_state(facts: Facts, session: Session, engines: Sequence[str]) -> str | None:
    """`idle`, `progressing`, `queueing` or `stuck` during the waiting round; None if not seen."""
    failed = session.waiting
    if failed is None:
        return None
    states = [_state_of(_window(facts.counters, e, failed), facts, failed) for e in engines]
    seen = [state for state in states if state is not None]
    if session.hop not in engines and _answered_meanwhile(facts, failed, engines):
        # It works for others and answers us as well: that does not explain this wait.
        seen = [state for state in seen if state not in ("queueing", "progressing")]
    for state in ("queueing", "stuck", "progressing", "idle"):
        if state in seen:
            return state
    return None


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


def _window(samples: Iterable[CounterSample], engine: str, failed: Round) -> list[CounterSample]:
    begun, ended = failed.exchange.begun_ns, failed.exchange.ended_ns
    return [
        s for s in samples if s.hop == engine and begun <= s.at_ns <= ended and s.values is not None
    ]


def _state_of(samples: Sequence[CounterSample], facts: Facts, failed: Round) -> str | None:
    """Judge what moved and who explains it.

    Where nothing moved at all, the load alone tells: requests that are held, or none. Where
    something moved, it is for others if there is more load than we sent; else only a quiet run of
    readings tells, in which no probe of ours but the waiting one was worked on.
    """
    if len(samples) < SAMPLES_MIN:
        return None
    if _flat(samples):
        if min(_load(sample) for sample in samples) == 0:
            return "idle"
        # An engine that reads a long prompt can show nothing for a while, and is not stuck.
        flat_s = seconds_between(samples[0].at_ns, samples[-1].at_ns)
        return "stuck" if flat_s >= STUCK_S_MIN else None
    held = median(_load(s) - len(_own_in_flight(facts, s.at_ns)) for s in samples)
    # An engine may count a whole prompt at its end; a wait that was answered needs no more.
    rises_min = 1 if failed.outcome == "slow" else SAMPLES_MIN - 1
    if held > -1 and _moving(samples, rises_min):
        # Its load is more than our other requests explain: it holds this one, or others' as well.
        foreign = held > 0 or _victims_crowd(facts, failed)
        waiting = median((s.values or {}).get("waiting", 0.0) for s in samples) > 0
        return "queueing" if waiting and foreign else "progressing"
    quiet = _quiet_run(samples, facts, failed)
    if len(quiet) < SAMPLES_MIN:
        return None
    if _moving(quiet, SAMPLES_MIN - 1):
        return "progressing"
    return "idle" if min(_load(sample) for sample in quiet) == 0 else None


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


def _moving(samples: Sequence[CounterSample], rises_min: int) -> bool:
    """Whether a progress counter rose in so many steps between the readings."""
    for name in PROGRESS_COUNTERS:
        values = [s.values[name] for s in samples if s.values and name in s.values]
        rises = sum(later > earlier for earlier, later in pairwise(values))
        if rises >= rises_min:
            return True
    return False
