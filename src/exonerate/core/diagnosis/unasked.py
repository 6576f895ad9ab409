"""What has still to be asked, or seen, before the most believable suspect may be convicted."""

from __future__ import annotations

import math

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import before, hop_named, probeable
from exonerate.core.diagnosis.aside import SMALL
from exonerate.core.diagnosis.engine_rules import queue_proves
from exonerate.core.diagnosis.facts import Facts, Round
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.misaddressed import ASKED_WRONGLY
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.special_scenes import ABORT_AFTER_S

ABORT_QUESTION = ("saturated", "slot-leak", "cancel-not-propagated", "scheduler-stuck")
BUSY = ("queueing", "stuck", "progressing")
EXPLANATION_TIMES_MIN = 2


def unasked(judgement: Judgement) -> bool:
    """Whether something that tells the top suspect from its neighbours was not asked or seen."""
    if judgement.top_is("scheduler-stuck"):
        return abort_wanted(judgement) or alone_wanted(judgement)
    if judgement.top_is("cancel-not-propagated"):
        return not queue_proves(judgement)
    if judgement.top_is("idle-timer") and _says(judgement, "unavailable"):
        # A router that finds no worker says so too, and needs a while for it.
        return judgement.observed("request-left") is None
    if judgement.top_is("request-refused") and judgement.times("error-said"):
        # A box that has taken an engine out for good reason says the same.
        return judgement.observed("spoken-by") is None or _engine_was_down(judgement)
    if judgement.top_is("request-refused"):
        return refuses_whatever(judgement)
    if judgement.top_is("stale-upstream-pool"):
        parted = judgement.observed("next-idle")
        return parted is not None and parted.value == "not-parted"
    copies = judgement.observed("request-copies")
    return (
        judgement.top_is("retry-multiplication") and copies is None and not queue_proves(judgement)
    )


def refuses_whatever(judgement: Judgement) -> bool:
    """Whether nothing passes it, by a status that a wrong key, model or address gets as well.

    That it refuses by size, content or framing shows in something else that it lets through.
    """
    passing = {h.name for h in before(judgement.deployment, judgement.top.suspect.hop)}
    met = [r for s in judgement.facts.sessions if s.hop in passing for r in s.rounds]
    if any(round_.outcome in ("ok", "slow") for round_ in met):
        return False
    return {round_.exchange.status for round_ in met} <= {None, *ASKED_WRONGLY}


def _engine_was_down(judgement: Judgement) -> bool:
    return any(
        o.observable == "engine-process" and o.value in ("restarted", "down")
        for o in judgement.observations
    )


def _says(judgement: Judgement, kind: str) -> bool:
    said = judgement.observed("error-said")
    return said is not None and said.value == kind


def abort_wanted(judgement: Judgement) -> bool:
    """A busy engine may hold what clients have left behind: ask before it is excused or accused."""
    if judgement.top_is("scheduler-stuck") and judgement.times("slots-held"):
        return False
    busy = any(
        o.observable == "engine-meanwhile" and o.value in BUSY and o.times >= EXPLANATION_TIMES_MIN
        for o in judgement.observations
    )
    engines_busy = busy and judgement.top.suspect.suspect_class.slug in ABORT_QUESTION
    return engines_busy and not any(s.id.startswith("abort-") for s in judgement.facts.scenes)


def alone_wanted(judgement: Judgement) -> bool:
    """Whether the engine was asked nothing that it could have answered at once.

    Counters that stand still show an engine that is stuck, and one that reads a long prompt. Its
    own watchdog, or a token that it cannot make for its health page, tells as well.
    """
    hop = hop_named(judgement.deployment, judgement.top.suspect.hop)
    told = ("watchdog", "deep-health")
    if not probeable(hop) or any(judgement.times(name) for name in told):
        return False
    return all(s.plan.name != alone_name(hop.name) for s in judgement.facts.sessions)


def alone_name(hop: str) -> str:
    """The name of the session that asks a few words of an engine, alone."""
    return f"{SMALL}{hop}/alone"


def nothing_to_leave(facts: Facts, deployment: Deployment) -> bool:
    """Whether the engine's first token comes later than the moment at which an abort probe leaves.

    Then leaving at the engine says nothing of what it gives back, and only the boxes are asked.
    """
    engine = [hop for hop in deployment.hops if probeable(hop)][-1:]
    rounds = [r for s in victim_sessions(facts, engine) for r in s.rounds]
    ended = [r for r in rounds if r.outcome != "unfinished"]
    return bool(ended) and all(_token_s(r) > ABORT_AFTER_S for r in ended)


def _token_s(round_: Round) -> float:
    return math.inf if round_.exchange.first_token_ns is None else round_.wait_s
