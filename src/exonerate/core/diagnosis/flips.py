"""What makes the symptom go: the bypass of a hop, or one change of the victim's session.

A layer is convicted only if an intervention flips the symptom both ways, three times of three, or
so much more often on one side that chance does not explain it.
"""

from __future__ import annotations

from exonerate.core.deployment.topology import before, beyond
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.axes.walks import repeats_in_walks
from exonerate.core.diagnosis.chance import fisher_one_sided
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.observables import ANSWERED, symptom, victim_sessions

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
    again = repeats_in_walks(judgement.facts, judgement.top.suspect.hop)
    copies = _answered_past(judgement)
    if through.times + again < FLIPS_MIN or past.tries + again + copies < FLIPS_MIN:
        return False
    if through.times == through.tries:
        return True
    return fisher_one_sided(through.times, through.tries, 0, past.tries) < CHANCE_MAX


def axis_flips(judgement: Judgement) -> bool:
    """Whether one change of the victim's session, as the class predicts, makes the symptom go."""
    predicts = judgement.top.suspect.suspect_class.predicts
    return any(
        o.value == "flips" and o.times >= FLIPS_MIN and predicts[o.observable] == {"flips"}
        for o in judgement.top.predicted
        if axis_of(o.observable) is not None
    )


def scenes_with_symptom(judgement: Judgement) -> int:
    """In how many scenes the victim's shape failed, or was not as it is past the hop."""
    hop = judgement.top.suspect.hop
    passing = {h.name for h in before(judgement.deployment, hop)}
    past = [h for h in judgement.deployment.hops if h.name not in passing]
    reference = victim_sessions(judgement.facts, past)
    entering = [h for h in judgement.deployment.hops if h.name in passing]
    sessions = victim_sessions(judgement.facts, entering)
    return len({s.scene for s in sessions if symptom(s, reference) != "ok"})


def _answered_past(judgement: Judgement) -> int:
    """How often the request that failed was answered past the hop while it waited at the hop.

    Only where it was the first of its connection: then a new connection is no other way to ask.
    """
    facts, hop = judgement.facts, judgement.top.suspect.hop
    past = {h.name for h in beyond(judgement.deployment, hop)}
    return sum(
        s.hop in past and s.failed is None and _first_failed(facts, s)
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
