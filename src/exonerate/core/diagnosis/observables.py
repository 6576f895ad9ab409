"""From facts to observables: small closed vocabularies that suspects predict.

Every observable is about one hop:

- ``through``: how the victim's own shape of session went at entries whose requests pass the hop
- ``beyond``: the same at every entry past the hop (towards the engine)
- ``fails-at``: which request of a connection failed, over the failing sessions
- ``fresh-meanwhile``: a new connection through the hop while a victim round was waiting
- ``beyond-meanwhile``: a new connection past the hop while a victim round was waiting
- ``fresh-session``: many requests through the hop, each on a connection of its own
- ``engine-meanwhile``: what the engines' counters did while a victim round was waiting
- ``request-left``: whether the waiting request's bytes left the hop on its upstream side
- ``request-copies``, ``left-to``: over how many connections it went on, and whether to a known hop
- ``request-read``: whether the program at the hop ever took the request from its socket
- ``ended-after``: what the failing rounds' times have in common; ``defect-kind``: what is damaged
- ``error-said``: what kind of 5xx came back
- ``same-text``: whether the same question gets the same text through the hop as past it
- ``closed-while-idle``: what became of connections at the entry while they were idle
- ``period``: that the endings fall on a regular beat of the clock
- ``abort-through``, ``abort-beyond``: whether the engine stops when a client leaves
- ``upstream-face``: that the hop's upstream side was in sight, for any round
- ``answer-held``: whether the answer's bytes reached the hop while its client got none of them
- ``ended-by``: who ended the failing exchange; ``upstream``: the hop's log blames the next hop
- ``engine-up``: that the engine refuses connections, was restarted or is loading
- ``health``: what the hop's health page said while rounds waited
- ``breaker``: whether the hop kept the next ones from being asked, by its page or its log
- ``phase``: when it failed: before any byte, before the first token, or after it
- ``<axis>-flip``: whether the symptom goes when one thing of the victim's session is changed; see
  `axes`

A value is reported with how many tries showed it; mixed tries give ``mixed``, and a symptom that
some entry never showed is ``not-everywhere`` (it cannot live in a hop that every entry passes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, is_engine, probeable
from exonerate.core.diagnosis.aborts import aborts
from exonerate.core.diagnosis.axes.registry import FLIPS
from exonerate.core.diagnosis.between import broke_off_at_tap, held_at_tap, tapped_passage
from exonerate.core.diagnosis.carried import answer_held, passage, read_state, upstream_in_sight
from exonerate.core.diagnosis.client.values import CLIENT_VALUES
from exonerate.core.diagnosis.counted import breaker, counted_passage
from exonerate.core.diagnosis.endings import (
    beat_of,
    defect_kind,
    ended_after,
    ended_by,
    error_said,
    phase,
)
from exonerate.core.diagnosis.facts import VICTIM_SHAPED, Facts, Round, Session
from exonerate.core.diagnosis.logged import by_source, ended_by_next, face_logged, logged_passage
from exonerate.core.diagnosis.meanwhile import engine_state
from exonerate.core.diagnosis.situations import engine_health, engine_up
from exonerate.core.diagnosis.streaming import stream_shape
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.texts import closed_while_idle, same_text

SYMPTOMS = (
    "ok", "slow", "hang", "cut", "lost-ending", "refused", "server-error", "no-answer",
    "no-connect", "corrupt", "burst", "jerky", "mixed", "not-everywhere",
)  # fmt: skip
ANSWERED = ("ok", "slow")
COMPLAINTS = ("hang", "slow", "truncated", "corrupted", "errors")
BROKEN_OFF = frozenset({"cut", "lost-ending", "no-answer"})
VALUES: Mapping[str, tuple[str, ...]] = {
    "through": SYMPTOMS,
    "beyond": SYMPTOMS,
    "fails-at": ("first-request", "same-request", "varying"),
    "fresh-meanwhile": ("ok", "fails"),
    "beyond-meanwhile": ("ok", "fails"),
    "fresh-session": ("ok", "fails"),
    "engine-meanwhile": ("idle", "progressing", "queueing", "stuck"),
    "request-left": ("no", "yes", "answered"),
    "request-copies": ("one", "several"),
    "left-to": ("next", "elsewhere"),
    "request-read": ("read", "unread", "not-accepted"),
    "ended-after": ("constant-silence", "constant-total", "varying", "at-once"),
    "defect-kind": ("special-token", "transport"),
    "error-said": ("timeout", "unavailable", "bad-gateway", "error"),
    "period": ("regular",),
    "complaint": COMPLAINTS,
    "same-text": ("same", "differs"),
    "closed-while-idle": ("never", "always", "after-a-while"),
    "abort-through": ("freed", "kept"),
    "abort-beyond": ("freed", "kept"),
    "answer-held": ("yes", "no"),
    "upstream-face": ("seen",),
    "ended-by": ("us", "hop", "network", "nobody", "upstream"),
    "breaker": ("open", "closed"),
    "health": ("ok", "fails", "silent", "loading"),
    "engine-up": ("up", "refuses", "restarted", "loading"),
    "phase": ("before-head", "before-token", "after-token"),
    **CLIENT_VALUES,
    **FLIPS,
}  # fmt: skip


def observations(facts: Facts, deployment: Deployment) -> list[Observation]:
    """Every observable that has been seen, for every hop."""
    found: list[Observation] = []
    for hop in deployment.hops:
        found.extend(_of_hop(hop, facts, deployment))
    return found


def symptom(session: Session, reference: Sequence[Session]) -> str:
    """How a session went as a whole; `reference` are sessions past the hop, to compare shapes."""
    failed = session.failed
    if failed is not None:
        return failed.outcome
    shape = stream_shape(session, reference)
    return "slow" if session.waiting is not None and shape == "ok" else shape


def victim_sessions(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """Conclusive sessions in the victim's own shape that entered at one of these hops."""
    names = {hop.name for hop in hops}
    return [s for s in facts.sessions if s.hop in names and is_victim_shaped(s) and s.conclusive]


def is_victim_shaped(session: Session) -> bool:
    """Whether this session copied the victim (and was not a side probe)."""
    return session.victim_shaped


def _of_hop(hop: Hop, facts: Facts, deployment: Deployment) -> list[Observation]:
    past = [other for other in beyond(deployment, hop.name) if probeable(other)]
    passing = [other for other in before(deployment, hop.name) if probeable(other)]
    reference = victim_sessions(facts, past)
    through = victim_sessions(facts, passing)
    found = [
        _by_entry(hop.name, "through", [(s.hop, symptom(s, reference)) for s in through]),
        _by_entry(hop.name, "beyond", [(s.hop, symptom(s, ())) for s in reference]),
        _fails_at(hop.name, through),
        _meanwhile(hop.name, "fresh-meanwhile", facts, {hop.name}),
        _meanwhile(hop.name, "beyond-meanwhile", facts, {other.name for other in past}),
        _fresh_session(hop.name, facts),
        _answer_held(hop, facts, deployment, through),
        *_while_waiting(hop, facts, deployment, through),
        *_endings(hop, through, facts, deployment),
        *aborts(hop, facts, deployment),
        same_text(hop, facts, deployment),
        closed_while_idle(hop, through, deployment),
        breaker(hop, facts, through),
        engine_up(hop, facts, deployment),
        engine_health(hop, facts, through),
    ]
    return [observation for observation in found if observation is not None]


def _while_waiting(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> list[Observation | None]:
    waiting = [s for s in through if s.waiting is not None]
    engines = [h.name for h in deployment.hops if is_engine(h)]
    states = [engine_state(facts, s, engines) for s in waiting]
    looks = [(s, s.waiting) for s in waiting if s.waiting is not None]
    found = [
        tapped_passage(facts, round_, hop, deployment)
        or passage(facts, session, round_, hop, deployment)
        or logged_passage(facts, session, round_, hop, deployment)
        or counted_passage(facts, round_, hop, deployment)
        for session, round_ in looks
    ]
    passages = [p for p in found if p is not None]
    gone = [p for p in passages if p.left != "no"]
    entered = [s for s in waiting if s.hop == hop.name]
    read = [read_state(facts, s, deployment) for s in entered]
    return [
        _tally(hop.name, "engine-meanwhile", [state for state in states if state]),
        by_source(_tally(hop.name, "request-left", [p.left for p in passages]), passages),
        _tally(hop.name, "request-copies", ["several" if p.copies > 1 else "one" for p in gone]),
        _tally(
            hop.name,
            "left-to",
            ["elsewhere" if p.elsewhere else "next" for p in gone if p.elsewhere is not None],
        ),
        _tally(hop.name, "request-read", [value for value in read if value]),
        _upstream_face(hop, facts, deployment, through),
    ]


def _upstream_face(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> Observation | None:
    """Whether the hop's upstream side was in sight at all, during any round."""
    rounds = ((session, round_) for session in through for round_ in session.rounds)
    seen = any(
        passage(facts, s, r, hop, deployment) is not None
        or upstream_in_sight(facts, s, r, hop, deployment)
        or face_logged(facts, s, r, hop, deployment)
        or tapped_passage(facts, r, hop, deployment) is not None
        or counted_passage(facts, r, hop, deployment) is not None
        for s, r in rounds
    )
    return Observation(hop.name, "upstream-face", "seen", 1, 1) if seen else None


def _blames_next(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> bool:
    by_log = ended_by_next(facts, session, round_, hop)
    return by_log or broke_off_at_tap(facts, round_, hop, deployment)


def _endings(
    hop: Hop, through: Sequence[Session], facts: Facts, deployment: Deployment
) -> list[Observation | None]:
    bad = [s.failed for s in through if s.failed is not None]
    ends = [
        "upstream" if _blames_next(facts, s, s.failed, hop, deployment) else ended_by(s.failed)
        for s in through
        if s.failed is not None
    ]
    if not bad:
        return []
    after, kind, said = ended_after(bad), defect_kind(bad), error_said(bad)
    count = len(bad)
    return [
        _tally(hop.name, "ended-by", ends),
        _tally(hop.name, "phase", [phase(round_) for round_ in bad]),
        Observation(hop.name, "ended-after", after, count, count) if after else None,
        Observation(hop.name, "error-said", said, count, count) if said else None,
        Observation(hop.name, "defect-kind", kind, count, count) if kind else None,
        Observation(hop.name, "period", "regular", count, count) if beat_of(bad) else None,
    ]


def _by_entry(hop: str, name: str, values: Sequence[tuple[str, str]]) -> Observation | None:
    """One symptom for all entries; `not-everywhere` when some entry never showed it."""
    clean = {entry for entry, _ in values} - {e for e, value in values if value not in ANSWERED}
    bad = [value for _, value in values if value not in ANSWERED]
    if len(set(bad)) > 1 and set(bad) <= BROKEN_OFF:
        # Where in the answer the same cut falls decides what it looks like.
        values = [(entry, "cut" if value in BROKEN_OFF else value) for entry, value in values]
    if clean and bad:
        return Observation(hop, name, "not-everywhere", len(bad), len(values))
    return _tally(hop, name, [value for _, value in values])


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


def _meanwhile(hop: str, name: str, facts: Facts, hops: set[str]) -> Observation | None:
    values = [
        "ok" if s.failed is None else "fails"
        for s in facts.sessions
        if s.during_stall is not None
        and s.during_stall.startswith(VICTIM_SHAPED)
        and s.hop in hops
        and s.conclusive
    ]
    return _tally(hop, name, values)


def _fresh_session(hop: str, facts: Facts) -> Observation | None:
    values = [
        "ok" if s.failed is None else "fails"
        for s in facts.sessions
        if s.plan.name == f"fresh@{hop}" and s.conclusive
    ]
    return _tally(hop, "fresh-session", values)


def _answer_held(
    hop: Hop, facts: Facts, deployment: Deployment, sessions: Sequence[Session]
) -> Observation | None:
    bursts = [s for s in sessions if s.failed is None]
    seen = [
        answer_held(facts, session, hop, deployment) or held_at_tap(facts, session, hop, deployment)
        for session in bursts
    ]
    return _tally(hop.name, "answer-held", [value for value in seen if value])
