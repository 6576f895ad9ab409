"""Which axis to vary next: the one whose outcome is expected to tell the most about the suspects.

The expected gain of an axis is the entropy over the credible suspects minus what is expected to be
left of it after `TRIES` pairs, given what each class predicts of the axis. Where no axis tells
them apart, nothing is varied and the victim is copied again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, probeable
from exonerate.core.diagnosis.axes.axis import FLIP_VALUES, Axis
from exonerate.core.diagnosis.axes.registry import AXES
from exonerate.core.diagnosis.axes.scenes import TRIES, Inquiry, applicable, cost_s
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.observables import symptom, victim_sessions
from exonerate.core.diagnosis.posterior import SURPRISE, Rating
from exonerate.core.diagnosis.vocabulary import ANSWERED

CREDIBLE = 0.02
GAIN_MIN_BITS, GAIN_NEEDED_BITS = 0.1, 1.1
"""The least that is worth a scene, and what only an axis reaches without which nobody is
convicted: two outcomes never tell more than one bit."""
BUDGET_SHARE_MAX = 0.55
"""No more of what is left of the budget goes into one axis, unless a class needs it: copying the
victim again may convict as well."""
NEEDED_FROM = 0.2
"""An axis that a class needs is varied when the class is at least so believable."""


def next_inquiry(judgement: Judgement, left_s: float, *, gentle: bool = False) -> Inquiry | None:
    """The axis to vary and where, within the seconds that are left; None where none helps.

    `gentle`: nothing that sends more, or fewer, sessions at a time than the victim has.
    """
    hop = failing_entry(judgement)
    if hop is None or cost_s(judgement.facts, judgement.deployment, hop) > left_s:
        return None
    gain_min = GAIN_MIN_BITS
    if cost_s(judgement.facts, judgement.deployment, hop) > BUDGET_SHARE_MAX * left_s:
        gain_min = GAIN_NEEDED_BITS
    gains = [
        (gain, inquiry)
        for axis in AXES
        if not _asked(judgement, axis)
        and not (gentle and axis.crowd is not None)
        and applicable(judgement.deployment, judgement.facts, inquiry := Inquiry(axis, hop))
        and (gain := _gain(judgement, axis, hop)) >= gain_min
    ]
    # The first of equals, so that the same records give the same scene.
    return max(gains, key=lambda pair: pair[0])[1] if gains else None


def failing_entry(judgement: Judgement) -> Hop | None:
    """The innermost entry before the most believable suspect where the victim's shape failed."""
    deployment, facts = judgement.deployment, judgement.facts
    suspected = judgement.top.suspect.hop
    for hop in reversed(before(deployment, suspected)):
        past = [h for h in beyond(deployment, hop.name) if probeable(h)]
        reference = victim_sessions(facts, past)
        own = victim_sessions(facts, [hop])
        if probeable(hop) and any(symptom(s, reference) not in ANSWERED for s in own):
            return hop
    return None


def _asked(judgement: Judgement, axis: Axis) -> bool:
    return any(s.id.startswith(f"axis-{axis.slug}-") for s in judgement.facts.scenes)


def _gain(judgement: Judgement, axis: Axis, entry: Hop) -> float:
    """Bits expected; more than any for an axis without which a class cannot be convicted."""
    credible = [r for r in judgement.ratings if r.posterior >= CREDIBLE]
    reached = _reached(judgement.deployment, entry)
    needed = [r.posterior for r in credible if _needs(r, axis, reached)]
    if needed:
        # What the most believable class needs goes first.
        return GAIN_NEEDED_BITS + max(needed)
    total = sum(rating.posterior for rating in credible)
    weights = [rating.posterior / total for rating in credible] if credible else []
    chances = [_chance_of_flip(rating, axis, reached) for rating in credible]
    left = 0.0
    for outcome in FLIP_VALUES:
        likelihoods = [p if outcome == "flips" else 1 - p for p in chances]
        joint = [w * p for w, p in zip(weights, likelihoods, strict=True)]
        if sum(joint) > 0:
            left += sum(joint) * _entropy([value / sum(joint) for value in joint])
    return _entropy(weights) - left


def _needs(rating: Rating, axis: Axis, reached: set[str]) -> bool:
    suspect = rating.suspect
    wanted = axis.observable in suspect.suspect_class.needs and suspect.hop in reached
    return wanted and rating.posterior >= NEEDED_FROM


def _reached(deployment: Deployment, entry: Hop) -> set[str]:
    """The hops that requests sent at the entry pass."""
    return {entry.name, *(hop.name for hop in beyond(deployment, entry.name))}


def _chance_of_flip(rating: Rating, axis: Axis, reached: set[str]) -> float:
    """That all tries flip, given the suspect; the tries are one intervention, repeated."""
    allowed = rating.suspect.suspect_class.predicts.get(axis.observable)
    if allowed is None or rating.suspect.hop not in reached or len(allowed) == len(FLIP_VALUES):
        return 0.5
    one = 1 - SURPRISE if "flips" in allowed else SURPRISE
    return one**TRIES / (one**TRIES + (1 - one) ** TRIES)


def _entropy(weights: Sequence[float]) -> float:
    return sum(_terms(weights))


def _terms(weights: Sequence[float]) -> Iterator[float]:
    for weight in weights:
        if weight > 0:
            yield -weight * math.log2(weight)
