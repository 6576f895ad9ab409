"""Whether the most believable suspect is convicted: rules R1 to R3, see `localiser`."""

from __future__ import annotations

from exonerate.core.deployment.topology import is_engine
from exonerate.core.diagnosis.aside import fresh_sessions
from exonerate.core.diagnosis.engine_rules import (
    copies_prove,
    crowd_proves,
    moments_prove,
    pair_proves,
    queue_proves,
    stranger_behind,
)
from exonerate.core.diagnosis.flips import FLIPS_MIN, axis_flips, bypass_flips, scenes_with_symptom
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.posterior import Rating
from exonerate.core.diagnosis.situations import restart_shown
from exonerate.core.diagnosis.unasked import unasked

CONVICTION = 0.95
NEXT_TO_NOTHING = 0.002
CONTENT_TIMES_MIN = 6


def certain(judgement: Judgement) -> bool:
    """Whether no other suspect is left, and nothing speaks against this one."""
    top, suspect_class = judgement.top, judgement.top.suspect.suspect_class
    either = suspect_class.needs_one_of
    seen = all(judgement.observed(name) is not None for name in suspect_class.needs)
    seen_one = not either or any(judgement.observed(name) is not None for name in either)
    return judgement.believed >= CONVICTION and not top.contradicted_by and seen and seen_one


def convicted(judgement: Judgement) -> bool:
    """Whether it is certain, its rivals are ruled out, and an intervention flipped the symptom."""
    top = judgement.top
    if not certain(judgement) or stranger_behind(judgement):
        return False
    if judgement.top_is("engine-restart") and not restart_shown(
        judgement.facts, judgement.deployment, top.suspect.hop
    ):
        return False
    rivals = [
        rating
        for rating in judgement.ratings[1:]
        if rating.suspect.suspect_class.prior >= top.suspect.suspect_class.prior
        and rating.suspect.id != top.suspect.id
    ]
    if judgement.top_is("stale-reuse"):
        # The path is sound by itself; what flips is the idle time, seen on both sides of it.
        return judgement.times("closed-while-idle") >= FLIPS_MIN
    if not all(_ruled_out(rival) for rival in rivals):
        return False
    if unasked(judgement):
        return False
    if judgement.top_is("slow-connect"):
        # Name servers and kernels were waited for; no hop had been asked anything yet.
        return judgement.times("connecting") >= FLIPS_MIN
    if _proven_otherwise(judgement):
        return True
    return scenes_with_symptom(judgement) >= 2 and _repeated(judgement)


def _proven_otherwise(judgement: Judgement) -> bool:
    """Whether another intervention than the bypass of the hop has flipped the symptom."""
    if judgement.top_is("corruption") and judgement.times("same-text") >= CONTENT_TIMES_MIN:
        return True
    proofs = (crowd_proves, pair_proves, queue_proves, copies_prove, moments_prove)
    return any(proof(judgement) for proof in proofs)


def _repeated(judgement: Judgement) -> bool:
    """The symptom often enough, and its flips where the suspect can be bypassed."""
    top = judgement.top.suspect
    if is_engine(next(h for h in judgement.deployment.hops if h.name == top.hop)):
        return judgement.times("through") >= FLIPS_MIN
    flips = bypass_flips(judgement) or axis_flips(judgement)
    return flips and scope_known(judgement)


def _ruled_out(rival: Rating) -> bool:
    """Contradicted by something seen twice, or left with next to no belief."""
    contradicted = any(o.times >= 2 for o in rival.contradicted_by)
    return contradicted or rival.posterior < NEXT_TO_NOTHING


def scope_known(judgement: Judgement) -> bool:
    """A fault that depends on the connection is named only after many new ones were tried."""
    suspect_class = judgement.top.suspect.suspect_class
    # A clock does not ask how old a connection is.
    if "fails-at" not in suspect_class.predicts or "period" in suspect_class.needs:
        return True
    return bool(fresh_sessions(judgement.top.suspect.hop, judgement.facts))
