"""What makes the symptom go: the bypass of a hop, or one change of the victim's session.

A layer is convicted only if an intervention flips the symptom both ways, three times of three, or
so much more often on one side that chance does not explain it.
"""

from __future__ import annotations

from math import ceil

from exonerate.core.deployment.topology import before, beyond
from exonerate.core.diagnosis.aside import fresh_sessions, while_waiting
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.chance import fisher_one_sided
from exonerate.core.diagnosis.endings import BEAT_TOLERANCE_S, beat_of, clocked_endings
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.observables import symptom, victim_sessions
from exonerate.core.diagnosis.vocabulary import ANSWERED
from exonerate.core.diagnosis.walk_sessions import repeats_in_walks
from exonerate.core.instant import NS_PER_S

FLIPS_MIN = 3
CHANCE_MAX = 0.01


def bypass_flips(judgement: Judgement) -> bool:
    """Whether bypassing the suspected hop makes the symptom go, surely enough.

    Always there and never past it, three times each; or, for one that comes and goes, so much
    rarer past the hop that chance explains it with less than `CHANCE_MAX` (Fisher's exact test).
    """
    through, past = judgement.observed("through"), judgement.observed("beyond")
    if through is None or past is None or past.value not in ANSWERED:
        return False
    if judgement.top_is("periodic-kill"):
        return _beat_flips(judgement)
    if _side_probe_failed_alike(judgement, through.value):
        return False
    again = repeats_in_walks(judgement.facts, judgement.top.suspect.hop)
    copies = _answered_past(judgement)
    if through.times + again < FLIPS_MIN or past.tries + again + copies < FLIPS_MIN:
        return False
    if through.times == through.tries and not _behind_as_well(judgement):
        return True
    return fisher_one_sided(through.times, through.tries, 0, past.tries) < CHANCE_MAX


def _side_probe_failed_alike(judgement: Judgement, symptom_seen: str) -> bool:
    """Whether a request past the hop, sent while the victim waited, had the same symptom.

    A few copies of the victim can miss a fault past the hop that takes one request in several.
    """
    hop = judgement.top.suspect.hop
    past = {h.name for h in beyond(judgement.deployment, hop)}
    return any(
        s.hop in past
        and s.during_stall is not None
        and s.failed is not None
        and s.failed.outcome == symptom_seen
        for s in judgement.facts.sessions
    )


def _behind_as_well(judgement: Judgement) -> bool:
    """Whether the fault may be one past the hop that its few copies there missed by chance.

    So it is where it strikes at no request in particular, or at some new connections and not at
    others, and nobody saw what left the hop.
    """
    suspect = judgement.top.suspect
    if "fails-at" not in suspect.suspect_class.predicts or judgement.observed("request-left"):
        return False
    at = judgement.observed("fails-at")
    rows = {s.failed is None for s in fresh_sessions(suspect.hop, judgement.facts)}
    return (at is not None and at.value == "varying") or len(rows) > 1


def axis_flips(judgement: Judgement) -> bool:
    """Whether one change of the victim's session, as the class predicts, makes the symptom go."""
    predicts = judgement.top.suspect.suspect_class.predicts
    return any(
        o.value == "flips" and o.times >= FLIPS_MIN and predicts[o.observable] == {"flips"}
        for o in judgement.top.predicted
        if axis_of(o.observable) is not None
    )


def scenes_with_symptom(judgement: Judgement) -> int:
    """In how many scenes the victim's shape failed, or was not as it is past the hop, or a walk."""
    hop = judgement.top.suspect.hop
    passing = {h.name for h in before(judgement.deployment, hop)}
    past = [h for h in judgement.deployment.hops if h.name not in passing]
    reference = victim_sessions(judgement.facts, past)
    entering = [h for h in judgement.deployment.hops if h.name in passing]
    sessions = victim_sessions(judgement.facts, entering)
    copies = {s.scene for s in sessions if symptom(s, reference) != "ok"}
    return len(copies) + repeats_in_walks(judgement.facts, hop)


def _beat_flips(judgement: Judgement) -> bool:
    """Whether what was under way at a beat of the clock was ended through the hop, and not past it.

    A round that no beat fell into says nothing of a fault that strikes at beats.
    """
    facts, deployment = judgement.facts, judgement.deployment
    hop = judgement.top.suspect.hop
    passing = {h.name for h in before(deployment, hop)}
    past = {h.name for h in beyond(deployment, hop)}
    ended = clocked_endings(hop, facts, deployment)
    period_s = beat_of(ended)
    if period_s is None:
        return False
    beat_s = ended[0].exchange.ended_ns / NS_PER_S
    met = [
        (session.hop, round_)
        for session in facts.sessions
        if not session.plan.name.startswith("abort")
        for round_ in session.rounds
        if round_.outcome != "unfinished"
        and (round_ in ended or _meets_beat(round_, beat_s, period_s))
    ]
    through = [round_ for entry, round_ in met if entry in passing]
    spared = [round_ for entry, round_ in met if entry in past]
    bad = sum(round_.outcome not in ANSWERED for round_ in through)
    if len(spared) < FLIPS_MIN or any(round_.outcome not in ANSWERED for round_ in spared):
        return False
    return fisher_one_sided(bad, len(through), 0, len(spared)) < CHANCE_MAX


def _meets_beat(round_: Round, beat_s: float, period_s: float) -> bool:
    """Whether the round was under way, for longer than beats are uncertain, at one of them."""
    begun_s = round_.exchange.begun_ns / NS_PER_S + BEAT_TOLERANCE_S
    ended_s = round_.exchange.ended_ns / NS_PER_S - BEAT_TOLERANCE_S
    next_s = beat_s + period_s * ceil((begun_s - beat_s) / period_s)
    return begun_s <= next_s <= ended_s


def _answered_past(judgement: Judgement) -> int:
    """How often the request that failed was answered past the hop while it waited at the hop.

    Only where it was the first of its connection: then a new connection is no other way to ask.
    """
    facts, hop = judgement.facts, judgement.top.suspect.hop
    past = {h.name for h in beyond(judgement.deployment, hop)}
    return sum(
        s.hop in past and s.failed is None and _first_failed(facts, s) and while_waiting(s, facts)
        for s in facts.sessions
        if s.during_stall is not None
    )


def _first_failed(facts: Facts, meanwhile: Session) -> bool:
    """Whether the session that this one was asked beside failed at its first request."""
    return any(
        s.scene == meanwhile.scene
        and s.plan.name == meanwhile.during_stall
        and s.victim_shaped
        and s.failed is not None
        and s.failed is s.rounds[0]
        for s in facts.sessions
    )
