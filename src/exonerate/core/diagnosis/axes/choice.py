"""Which axis to vary next: the one that is expected to tell the most for the time that it takes.

What an axis is expected to tell is the entropy over the credible suspects minus what is expected to
be left of it after `TRIES` pairs, given what each class predicts of the axis; how long it takes is
reckoned from the rounds so far, shorter where the change is likely to cure. Where no axis tells
them apart, or none fits into what is left, nothing is varied and the victim is copied again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
GAIN_MIN_BITS = 0.1
"""The least that is worth a scene."""
BUDGET_SHARE_MAX = 0.55
"""No more of what is left of the budget goes into one axis, unless a class needs it: copying the
victim again may convict as well."""
NEEDED_FROM = 0.2
"""An axis that a class needs is varied when the class is at least so believable."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What an inquiry promises: belief in a class that needs it, else bits, and both per second."""

    inquiry: Inquiry
    needed: float
    gain: float
    seconds: float

    @property
    def rank(self) -> tuple[bool, float]:
        """What a class needs goes first; else, and among those, the most for its time."""
        return self.needed > 0, (self.needed or self.gain) / self.seconds


def next_inquiry(judgement: Judgement, left_s: float, *, gentle: bool = False) -> Inquiry | None:
    """The axis to vary and where, within the seconds that are left; None where none helps.

    `gentle`: nothing that sends more, or fewer, sessions at a time than the victim has.
    """
    hop = failing_entry(judgement)
    if hop is None:
        return None
    worths = [
        worth
        for axis in AXES
        if not _asked(judgement, axis)
        and not (gentle and axis.crowd is not None)
        and applicable(judgement.deployment, judgement.facts, inquiry := Inquiry(axis, hop))
        and _affordable(worth := _worth(judgement, inquiry), left_s)
    ]
    # The first of equals, so that the same records give the same scene.
    return max(worths, key=lambda worth: worth.rank).inquiry if worths else None


def _affordable(worth: Worth, left_s: float) -> bool:
    """Whether it is worth its time, and leaves enough of the budget for what has to follow."""
    if worth.needed:
        return worth.seconds <= left_s
    return worth.gain >= GAIN_MIN_BITS and worth.seconds <= BUDGET_SHARE_MAX * left_s


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


def _worth(judgement: Judgement, inquiry: Inquiry) -> Worth:
    facts, deployment = judgement.facts, judgement.deployment
    credible = [r for r in judgement.ratings if r.posterior >= CREDIBLE]
    reached = _reached(deployment, inquiry.hop)
    total = sum(rating.posterior for rating in credible)
    weights = [rating.posterior / total for rating in credible]
    chances = [_chance_of_flip(rating, inquiry.axis, reached) for rating in credible]
    cured = sum(weight * chance for weight, chance in zip(weights, chances, strict=True))
    needing = (r.posterior for r in credible if _needs(r, inquiry.axis, reached))
    return Worth(
        inquiry,
        needed=max(needing, default=0.0),
        gain=_gain(weights, chances),
        seconds=cost_s(facts, deployment, inquiry, cured=cured),
    )


def _gain(weights: Sequence[float], chances: Sequence[float]) -> float:
    """Bits expected of an axis, from the weights of the suspects and their chances of a flip."""
    left = 0.0
    for outcome in FLIP_VALUES:
        likelihoods = [p if outcome == "flips" else 1 - p for p in chances]
        joint = [w * p for w, p in zip(weights, likelihoods, strict=True)]
        if sum(joint) > 0:
            left += sum(joint) * _entropy([value / sum(joint) for value in joint])
    return _entropy(weights) - left


def _needs(rating: Rating, axis: Axis, reached: set[str]) -> bool:
    suspect_class = rating.suspect.suspect_class
    wanted = axis.observable in (*suspect_class.needs, *suspect_class.needs_one_of)
    return wanted and rating.suspect.hop in reached and rating.posterior >= NEEDED_FROM


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
