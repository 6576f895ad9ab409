"""When the next scene begins to ask, and how long it is idle between rounds.

Both are varied so that causes that would look alike come apart: a count of requests and an age, a
timer and a clock, two timers.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, probeable
from exonerate.core.diagnosis.carried import answer_held
from exonerate.core.diagnosis.dependence import idle_border
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.streaming import innermost, misshapen_at_once
from exonerate.core.diagnosis.vocabulary import ANSWERED, BROKEN_OFF
from exonerate.core.instant import seconds_between

ROUNDS_OF_A_SHAPE, ROUNDS_OF_A_WAIT = 2, 1
"""Enough to see once more that answers come in bursts, or late, where the very first one did."""
IDLE_RESOLUTION = 1.35
"""The idle time at which failures begin is looked for until it is known this well (a ratio)."""
JUST_SHORT = 1.2
"""So many times shorter than the longest idle time that went well: surely well."""
START_OFFSETS_S, START_OFFSETS_FROM_S = (0.0, 1.3, 0.6, 1.9), 1.0
"""How much later a scene begins to ask, where answers were broken off after so long."""
ANSWER_SHARES, ANSWER_OFFSET_S_MAX = (0.0, 0.95, 0.5, 0.7), 3.0
"""How much later, in answers, where one stopped in the middle: a clock then meets another request,
and a box that counts meets the same one."""
FRESH_S = 10.0
"""So long may the requests on new connections take, if there need not be as many."""
THINK_FACTORS = (1.0, 0.5, 0.25, 1.0, 0.5, 0.25)
"""Idle time varies from scene to scene, so that a count of requests and an age come apart."""


def think_factor(facts: Facts, deployment: Deployment) -> float:
    """How long to be idle, varied; not where only the victim's own idle time brings the symptom."""
    think_s = deployment.victim.think_s
    sessions = [s for s in facts.sessions if s.victim_shaped and s.conclusive]
    needed = any(
        long.hop == short.hop and long.failed is not None and short.failed is None
        for long in sessions
        if long.plan.think_s == think_s
        for short in sessions
        if short.plan.think_s < think_s
    )
    copies = sum(scene.id.startswith("victim-") for scene in facts.scenes)
    return 1.0 if needed else THINK_FACTORS[copies % len(THINK_FACTORS)]


def start_offset_s(facts: Facts, number: int) -> float:
    """A later start where answers are broken off, so that a clock and a timer come apart.

    A scene begins when the one before has ended, so that what is ended by a clock would always
    have lasted as long.
    """
    broken = [
        s.failed
        for s in facts.sessions
        if s.victim_shaped and s.failed is not None and s.failed.outcome in BROKEN_OFF
    ]
    if any(round_.total_s >= START_OFFSETS_FROM_S for round_ in broken):
        return START_OFFSETS_S[number % len(START_OFFSETS_S)]
    if not _stopped_in_the_middle(facts):
        return 0.0
    copies = sum(scene.id.startswith("victim-") for scene in facts.scenes)
    share = ANSWER_SHARES[copies % len(ANSWER_SHARES)]
    return min(ANSWER_OFFSET_S_MAX, share * 2 * stagger_s(facts))


def _stopped_in_the_middle(facts: Facts) -> bool:
    """Whether an answer to a copy of the victim began and was never finished."""
    failed = (s.failed for s in facts.sessions if s.victim_shaped)
    return any(r.outcome == "hang" and r.exchange.first_token_ns is not None for r in failed if r)


def failing_request(facts: Facts) -> int:
    """The latest request of a connection that a copy of the victim failed at; 0 if none did."""
    failing = (s.failed for s in facts.sessions if s.victim_shaped)
    return max((f.exchange.connection.request_number for f in failing if f), default=0)


def rounds_to_fail(facts: Facts, deployment: Deployment) -> int:
    """How many rounds are enough to see again what was seen; all where it is not known.

    All as well where a session has passed the place at which another one failed: what comes and
    goes is met sooner in longer ones, which end with the first failure anyway.
    """
    failing = failing_request(facts)
    if failing and _passed_where_it_failed(facts):
        return deployment.victim.rounds
    if failing:
        return failing + 1
    entries = [hop for hop in deployment.hops if probeable(hop)]
    if any(_misshapen_at_once(facts, deployment, entry) for entry in entries):
        return ROUNDS_OF_A_SHAPE
    late = _late_at_once(victim_sessions(facts, entries[:1]))
    return ROUNDS_OF_A_WAIT if late else deployment.victim.rounds


def copy_lasts_s(facts: Facts, deployment: Deployment) -> float | None:
    """How long one more copy of the victim is likely to last, from those so far; None without any.

    Fewer rounds take less time, where none of them fails.
    """
    copies: dict[str, list[Session]] = {}
    for session in facts.sessions:
        if session.scene.startswith("victim-") and session.rounds:
            copies.setdefault(session.scene, []).append(session)
    if not copies:
        return None
    rounds = min(deployment.victim.rounds, rounds_to_fail(facts, deployment))
    return mean(_span_s(own) * _share(own, rounds) for own in copies.values())


def _span_s(sessions: Sequence[Session]) -> float:
    begun = min(s.rounds[0].exchange.begun_ns for s in sessions)
    return seconds_between(begun, max(s.rounds[-1].exchange.ended_ns for s in sessions))


def _share(sessions: Sequence[Session], rounds: int) -> float:
    """Which share of its time a scene would take with so many rounds."""
    if any(s.failed is not None for s in sessions):
        return 1.0
    asked = max((len(s.rounds) for s in sessions if s.victim_shaped), default=rounds)
    return min(1.0, rounds / asked)


def _late_at_once(sessions: Sequence[Session]) -> bool:
    """Whether every copy of the victim was late from its first answer on, and in most of them."""
    late = [[r.outcome == "slow" for r in s.rounds if r.outcome != "unfinished"] for s in sessions]
    return bool(late) and all(rounds[0] and 2 * sum(rounds) > len(rounds) for rounds in late)


def fresh_rounds(facts: Facts, deployment: Deployment) -> int:
    """How many requests are sent on new connections, to see whether those fail as well.

    One more than it took the victim's own connection to fail; twice as many where they are quick.
    """
    failing = failing_request(facts)
    if not failing:
        return deployment.victim.rounds
    answers = [
        r.total_s
        for s in facts.sessions
        if s.victim_shaped
        for r in s.rounds
        if r.outcome in ANSWERED
    ]
    affordable = int(FRESH_S / median(answers)) if answers else 0
    return min(2 * failing + 1, max(failing + 1, affordable))


def _passed_where_it_failed(facts: Facts) -> bool:
    """Whether at some hop a copy of the victim went well past the round that others failed at."""
    copies = [s for s in facts.sessions if s.victim_shaped and s.conclusive]
    return any(
        bad.hop == good.hop
        and bad.failed is not None
        and good.failed is None
        and good.rounds[-1].exchange.round >= bad.failed.exchange.round
        for bad in copies
        for good in copies
    )


def _misshapen_at_once(facts: Facts, deployment: Deployment, entry: Hop) -> bool:
    """Whether a wrong shape in time shows from the first round on, and all else that tells of it.

    That is whether the answer's bytes were held at the hop, where its sockets can be read.
    """
    sessions = victim_sessions(facts, [entry])
    past = filter(probeable, beyond(deployment, entry.name))
    if not misshapen_at_once(sessions, innermost(victim_sessions(facts, past), deployment)):
        return False
    unseen = all(sample.rows is None for samples in facts.sockets.values() for sample in samples)
    held = (answer_held(facts, session, entry, deployment) for session in sessions)
    return unseen or any(value is not None for value in held)


def stagger_s(facts: Facts) -> float:
    """Half of the time that a good answer takes."""
    rounds = [r for s in facts.sessions if s.victim_shaped for r in s.rounds]
    good = [round_.total_s for round_ in rounds if round_.outcome == "ok"]
    return median(good) / 2 if good else 0.0


def late_inside(facts: Facts) -> bool:
    """Whether answers came late, or not in time, at a hop while at another they were broken off.

    What is broken off may go on in the engine; asked first, it would stand before what is waited
    for.
    """
    sessions = [s for s in facts.sessions if s.victim_shaped]
    broken = {s.hop for s in sessions if s.failed is not None and _broken_off(s.failed)}
    late = {s.hop for s in sessions if s.waiting and s.waiting.outcome in ("slow", "hang")}
    return bool(broken) and bool(late - broken)


def _broken_off(round_: Round) -> bool:
    return round_.outcome in BROKEN_OFF or round_.outcome == "server-error"


def telling_think_s(facts: Facts, deployment: Deployment) -> float | None:
    """The idle time that tells the most, once failures seem to begin at one: halfway, then long.

    In between one that is a little too short to fail, if no session was as short as that.
    """
    sessions = [s for s in facts.sessions if s.victim_shaped]
    failing = [s.hop for s in sessions if s.failed is not None]
    border = idle_border([s for s in sessions if s.hop in failing])
    if border is None or border.well <= 0:
        return None
    if border.failed / border.well < IDLE_RESOLUTION:
        just_short = border.well / JUST_SHORT
        tried = any(
            s.failed is None and s.plan.think_s >= just_short / JUST_SHORT for s in sessions
        )
        return deployment.victim.think_s if tried else just_short
    return (border.failed + border.well) / 2
