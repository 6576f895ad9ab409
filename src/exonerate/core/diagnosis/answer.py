"""A judgement in the contract `exonerate.verdict/1`, in words an on-call engineer can use."""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.topology import beyond, hop_named, is_engine, next_hops
from exonerate.core.diagnosis.axes.covered import covered_sentence
from exonerate.core.diagnosis.confidence import stated_confidence
from exonerate.core.diagnosis.details import fault_details
from exonerate.core.diagnosis.faces import own_upstream_side
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.masked import masked
from exonerate.core.diagnosis.posterior import Rating
from exonerate.core.diagnosis.sent import requests_at_once, requests_sent
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.timeline import timeline
from exonerate.core.diagnosis.walks import walk_details
from exonerate.core.diagnosis.wording import (
    clean_tries_sentence,
    not_examined,
    observation_text,
    paragraph,
    suggestions,
)
from exonerate.core.json_types import Json, JsonObject

SCHEMA = "exonerate.verdict/1"
SUSPECTS_SHOWN_MAX = 12


def locate_answer(
    judgement: Judgement, outcome: str, found: Sequence[Judgement] = ()
) -> JsonObject:
    """The whole answer of `locate --json`; `found` are the judgements that convict, if any do."""
    faults = [_fault(one) for one in found]
    explanation = _explanation(judgement) if outcome == "no_fault" else None
    cleared = _cleared(_innermost(found) if found else judgement, outcome)
    observations = list(judgement.observations)
    known = {o.id for o in observations}
    observations += [o for one in found for o in one.top.predicted if o.id not in known]
    answer: dict[str, Json] = {
        "schema": SCHEMA,
        "outcome": outcome,
        "faults": faults,
        "explanation": explanation,
        "cleared": cleared,
        "not_examined": [
            *not_examined(judgement.facts, judgement.deployment),
            *masked(found or ([judgement] if explanation is not None else [])),
        ],
        "next": _next(judgement, outcome, found),
        "elapsed_s": round(judgement.facts.elapsed_s, 3),
        "observations": [{"id": o.id, "text": observation_text(o)} for o in observations],
        "suspects": [_suspect_row(r) for r in judgement.ratings[:SUSPECTS_SHOWN_MAX]],
        "none_of_these": round(judgement.none_of_these, 4),
        "timeline": list(timeline(judgement.facts, judgement.deployment)),
        "requests_sent": requests_sent(judgement.facts),
        "requests_at_once": {**requests_at_once(judgement.facts)},
    }
    said = [paragraph(one, outcome, answer) for one in found or [judgement]]
    answer["paragraph"] = " And another one: ".join(said)
    return answer


def _innermost(found: Sequence[Judgement]) -> Judgement:
    return min(found, key=lambda one: len(beyond(one.deployment, one.top.suspect.hop)))


def _next(judgement: Judgement, outcome: str, found: Sequence[Judgement]) -> list[Json]:
    """What to do for each fault; what they have in common stands once."""
    steps = [step for one in found or [judgement] for step in suggestions(one, outcome)]
    return list(dict.fromkeys(steps))


def _fault(judgement: Judgement) -> JsonObject:
    rating = judgement.top
    suspect_class = rating.suspect.suspect_class
    hop = hop_named(judgement.deployment, rating.suspect.hop)
    layer, hops = _place(judgement, hop)
    return {
        "layer": layer,
        "hops": hops,
        "class": suspect_class.slug,
        "details": {
            **fault_details(judgement),
            **walk_details(judgement.facts, judgement.deployment, suspect_class.slug),
        },
        "confidence": stated_confidence(judgement),
        "evidence": [o.id for o in rating.predicted],
        "mechanism": suspect_class.mechanism,
        "flips": suspect_class.flips,
    }


def _place(judgement: Judgement, hop: Hop) -> tuple[str, list[str]]:
    """The layer and hops to name: a box only when both of its faces were seen (rule R1)."""
    suspect_class = judgement.top.suspect.suspect_class
    if suspect_class.layer == "network":
        return "network", _stretch(judgement, hop)
    if is_engine(hop) and suspect_class.slug != "stale-reuse":
        return suspect_class.layer, [hop.name]
    faces_seen = own_upstream_side(judgement.facts, hop, judgement.observations)
    if suspect_class.slug == "stale-reuse":
        return suspect_class.layer, ["client", hop.name]
    if suspect_class.layer in ("proxy", "router") and faces_seen:
        return hop.role, [hop.name]
    if suspect_class.layer in ("proxy", "router", "boundary"):
        return "boundary", [hop.name, *(h.name for h in next_hops(judgement.deployment, hop.name))]
    return suspect_class.layer, [hop.name]


def _stretch(judgement: Judgement, hop: Hop) -> list[str]:
    """The two ends of the way on which the network is at fault.

    A class that foretells what the hop's own connections onwards show lies past the hop; the other
    ones lie on the way to it, from here or from the hop before.
    """
    if "onward-delivered" in judgement.top.suspect.suspect_class.predicts:
        return [hop.name, *(h.name for h in next_hops(judgement.deployment, hop.name))]
    return [*(hop.behind or ("client",)), hop.name]


def _explanation(judgement: Judgement) -> JsonObject | None:
    suspect_class = judgement.top.suspect.suspect_class
    if suspect_class.slug == "healthy":
        return None
    return {
        "class": suspect_class.slug,
        "hop": judgement.top.suspect.hop,
        "confidence": stated_confidence(judgement),
        "mechanism": suspect_class.mechanism,
        "evidence": [o.id for o in judgement.top.predicted],
    }


def _cleared(judgement: Judgement, outcome: str) -> list[Json]:
    if outcome == "insufficient_evidence":
        return []
    deployment = judgement.deployment
    if outcome == "no_fault":
        hops = list(deployment.hops)
    else:
        hops = list(beyond(deployment, judgement.top.suspect.hop))
    cleared: list[Json] = []
    clean: set[str] = set()
    for hop in hops:
        why = _why_cleared(judgement, hop, outcome)
        if why is not None:
            cleared.append({"hop": hop.name, "why": why})
            clean.add(hop.name)
    cleared.extend(_cleared_knobs(judgement, clean))
    return cleared


def _why_cleared(judgement: Judgement, hop: Hop, outcome: str) -> str | None:
    sessions = [s for s in judgement.facts.sessions if s.hop == hop.name and s.victim_shaped]
    good = [s for s in sessions if s.failed is None]
    rounds = sum(len(s.rounds) for s in good)
    if outcome == "no_fault" and judgement.top.suspect.suspect_class.slug != "healthy":
        return judgement.top.suspect.suspect_class.mechanism if sessions else None
    if not sessions or len(good) < len(sessions):
        return None
    why = f"answered {rounds} of {rounds} rounds of the victim's shape in {len(good)} sessions"
    meanwhile = judgement.observed("beyond-meanwhile")
    if outcome == "fault" and meanwhile is not None and meanwhile.value == "ok":
        why += (
            f", and answered {meanwhile.times} of {meanwhile.tries} asked while the victim waited"
        )
    state = judgement.observed("engine-meanwhile")
    if outcome == "fault" and is_engine(hop) and state is not None and state.value == "idle":
        why += "; its counters stood still because no work had reached it"
    why += "".join(f"; {observation_text(o)}" for o in judgement.observations if _speaks(o, hop))
    covers = covered_sentence(judgement.facts, hop.name)
    return f"{why}; covers {covers} ({clean_tries_sentence(rounds)})"


def _speaks(observation: Observation, hop: Hop) -> bool:
    """Whether the hop's own signs of life speak for it, beside what it answered."""
    signs = (("watchdog", "silent"), ("steps", "go-on"))
    return observation.hop == hop.name and (observation.observable, observation.value) in signs


def _cleared_knobs(judgement: Judgement, clean: set[str]) -> list[Json]:
    hop_of = {service.name: service.hop for service in judgement.deployment.services}
    cleared: list[Json] = []
    for knob in judgement.deployment.knobs:
        hop = hop_of.get(knob.service)
        if hop in clean and judgement.top.suspect.suspect_class.is_fault:
            cleared.append(
                {
                    "knob": knob.name,
                    "why": f"it acts inside `{hop}`, which answered every round of this shape as "
                    f"it runs now; the waiting request had not reached it",
                }
            )
    return cleared


def _suspect_row(rating: Rating) -> JsonObject:
    suspect_class = rating.suspect.suspect_class
    return {
        "class": suspect_class.slug,
        "layer": suspect_class.layer,
        "hop": rating.suspect.hop,
        "posterior": round(rating.posterior, 4),
        "predicted": [o.id for o in rating.predicted],
        "contradicted_by": [o.id for o in rating.contradicted_by],
    }
