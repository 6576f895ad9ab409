"""Two faults on one path: what remains when the first one is taken away.

Theory of operation
-------------------
One fault hides another: past the outer one everything still looks ill, so that nothing can be
bypassed. Two changes of view take that apart, and each fault is then convicted by the same rules,
on sessions of its own.

1. *From inside.* The path is judged as if the client entered further in: sessions that entered
   before are no witnesses then. The innermost hop that is convicted so is the first fault, as long
   as the victim's own entry fails as well.
2. *Explained.* What the first fault did, and what may follow from it further out (an answer that is
   cut may reach the client as an error), is taken for answered. If something else still fails, it
   is another fault's; one failure never convicts two. A session that the first fault ended too
   early to meet the second one is no witness at all.

What may follow from what is a wide table on purpose: a failure that could be a consequence accuses
nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import before, beyond, entry_hop, probeable
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.judgement import Judgement, judge_facts
from exonerate.core.diagnosis.observables import symptom, victim_sessions
from exonerate.core.diagnosis.vocabulary import ANSWERED, BROKEN_OFF

Convicted: TypeAlias = Callable[[Judgement], bool]

FAULTS_MAX = 2
OUTSIDE = "outside-"
FOLLOWS: Mapping[str, frozenset[str]] = {
    "hang": frozenset({"hang", "server-error", "no-answer", "cut", "slow", "lost-ending"}),
    "cut": frozenset({"cut", "lost-ending", "no-answer", "server-error", "corrupt"}),
    "lost-ending": frozenset({"lost-ending", "cut", "no-answer", "server-error"}),
    "no-answer": frozenset({"no-answer", "server-error", "cut", "slow"}),
    "no-connect": frozenset({"no-connect", "no-answer", "server-error", "slow", "hang"}),
    "refused": frozenset({"refused", "server-error", "no-answer"}),
    "server-error": frozenset({"server-error", "refused", "no-answer", "cut", "slow"}),
    "corrupt": frozenset({"corrupt", "lost-ending", "cut", "server-error", "no-answer"}),
    # What arrives late and whole was ended by nobody; who ends it further out does that himself.
    "burst": frozenset({"burst", "jerky", "slow"}),
    "jerky": frozenset({"jerky", "burst", "slow"}),
    "slow": frozenset({"slow", "server-error", "no-answer", "cut"}),
}
"""What a hop further out may make of a symptom."""
SHAPES = frozenset({"burst", "jerky"})


def convictions(whole: Judgement, convicted: Convicted) -> list[Judgement]:
    """The judgements in which somebody is convicted, in order of effect; at most `FAULTS_MAX`."""
    first = _first(whole, convicted)
    if first is None:
        return []
    found = [first]
    rest = without(whole, first)
    if rest is not None and unexplained(rest):
        second = _first(rest, convicted)
        if second is not None and _hop(second) != _hop(first):
            found.append(second)
    return sorted(found, key=lambda judgement: -_effect(whole, judgement))


def without(whole: Judgement, first: Judgement) -> Judgement | None:
    """The whole judged again with what is explained by one fault, or explanation, taken away."""
    kinds = symptoms_of(first)
    if not kinds:
        return None
    passing = {hop.name for hop in before(whole.deployment, _hop(first))}
    facts = _explained(whole.facts, passing, kinds)
    return judge_facts(facts, whole.deployment, whole.stated, foreign=whole.foreign)


def unexplained(rest: Judgement) -> bool:
    """Whether something still fails that has to be asked about."""
    return any(_is_bad(s, rest.facts, rest.deployment) for s in _victims(rest))


def _first(whole: Judgement, convicted: Convicted) -> Judgement | None:
    if convicted(whole):
        return whole
    if not _entry_fails(whole):
        return None
    return next((judgement for judgement in _inner(whole) if convicted(judgement)), None)


def promising(whole: Judgement) -> Judgement:
    """The view whose best suspect nothing contradicts, from outside first, then from inside."""
    if not whole.top.contradicted_by or not _entry_fails(whole):
        return whole
    views = (v for v in _inner(whole) if unexplained(v) and not v.top.contradicted_by)
    return next((view for view in views if view.top.suspect.suspect_class.is_fault), whole)


def _inner(whole: Judgement) -> Iterator[Judgement]:
    return (_from_inside(whole, hop.name) for hop in reversed(whole.deployment.hops[1:]))


def _entry_fails(whole: Judgement) -> bool:
    entry = entry_hop(whole.deployment).name
    own = [s for s in _victims(whole) if s.hop == entry]
    return any(_is_bad(session, whole.facts, whole.deployment) for session in own)


def _from_inside(whole: Judgement, hop: str) -> Judgement:
    """Judged as if this hop were the first; what entered before still loads the path."""
    deployment = whole.deployment
    inside = {hop, *(h.name for h in beyond(deployment, hop))}
    sessions = tuple(s if s.hop in inside else _no_witness(s) for s in whole.facts.sessions)
    stated = tuple(o for o in whole.stated if o.hop in inside)
    facts = replace(whole.facts, sessions=sessions)
    return judge_facts(facts, deployment, stated, foreign=whole.foreign)


def symptoms_of(first: Judgement) -> frozenset[str]:
    """The symptoms that a fault, or an explanation, shows where requests meet it first."""
    hop = _hop(first)
    foretold = first.top.suspect.suspect_class.predicts.get("through", frozenset())
    own = [s for s in _victims(first) if s.hop == hop]
    shown = {_symptom(s, first.facts, first.deployment) for s in own}
    return frozenset(shown & foretold) - {"ok"}


def _explained(facts: Facts, passing: set[str], kinds: frozenset[str]) -> Facts:
    follows = frozenset(after for kind in kinds for after in FOLLOWS.get(kind, frozenset({kind})))
    later = [
        _taken_for_answered(s, follows, shapes=bool(kinds & SHAPES))
        if s.hop in passing
        # Streams that were broken off can be compared with others that were, and with no whole one.
        else (_shapeless(s) if kinds & BROKEN_OFF else s)
        for s in facts.sessions
    ]
    failing = [s.failed.exchange.round for s in later if s.victim_shaped and s.failed is not None]
    reach = max(failing, default=1)
    kept = [
        now
        if was.failed is None or now.failed is not None or len(now.rounds) >= reach
        # It loaded the path all the same.
        else _no_witness(now)
        for was, now in zip(facts.sessions, later, strict=True)
    ]
    return replace(facts, sessions=tuple(kept))


def _no_witness(session: Session) -> Session:
    return replace(session, plan=replace(session.plan, name=f"{OUTSIDE}{session.plan.name}"))


def _taken_for_answered(session: Session, follows: frozenset[str], *, shapes: bool) -> Session:
    return replace(session, rounds=tuple(_calm(r, follows, shapes) for r in session.rounds))


def _calm(round_: Round, follows: frozenset[str], shapes: bool) -> Round:
    # The shape of a stream that the first fault made says nothing of another one.
    calm = _without_shape(round_) if shapes else round_
    return Round(calm.exchange, "ok" if round_.outcome in follows else round_.outcome)


def _shapeless(session: Session) -> Session:
    return replace(session, rounds=tuple(_without_shape(r) for r in session.rounds))


def _without_shape(round_: Round) -> Round:
    return Round(replace(round_.exchange, arrivals_ms=()), round_.outcome)


def _effect(whole: Judgement, judgement: Judgement) -> int:
    """How many of the victim's own sessions show the symptom of this fault."""
    kinds = symptoms_of(judgement)
    entry = entry_hop(whole.deployment).name
    own = [s for s in _victims(whole) if s.hop == entry]
    return sum(_symptom(s, whole.facts, whole.deployment) in kinds for s in own)


def _victims(judgement: Judgement) -> list[Session]:
    return victim_sessions(judgement.facts, judgement.deployment.hops)


def _is_bad(session: Session, facts: Facts, deployment: Deployment) -> bool:
    return _symptom(session, facts, deployment) not in ANSWERED


def _symptom(session: Session, facts: Facts, deployment: Deployment) -> str:
    past = [hop for hop in beyond(deployment, session.hop) if probeable(hop)]
    reference: Sequence[Session] = victim_sessions(facts, past)
    return symptom(session, reference)


def _hop(judgement: Judgement) -> str:
    return judgement.top.suspect.hop
