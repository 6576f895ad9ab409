"""How believable each suspect is, given what was observed.

P(suspect | observations) is proportional to prior x product of P(observation | suspect). A value
that a suspect allows has the chance (1 - SURPRISE) / number of allowed values, one that it
excludes shares SURPRISE; an observable about which the suspect says nothing, and every observable
under "none of these", is uniform over its values. Observations are not independent (three looks
at one hang are not three hangs), so one observable counts with the power of its repeats, capped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.diagnosis.suspect import Observation, Suspect
from exonerate.core.diagnosis.vocabulary import VALUES

SURPRISE = 0.02
"""Chance that an observation comes out against a true suspect's prediction."""
REPEATS_COUNTED_MAX = 3
PRIOR_NONE_OF_THESE = 0.02
NONE_OF_THESE = "none of these"


@dataclass(frozen=True, slots=True)
class Rating:
    """One suspect weighed: its posterior and which observations speak for and against it."""

    suspect: Suspect
    posterior: float
    predicted: tuple[Observation, ...]
    contradicted_by: tuple[Observation, ...]


def rate(
    suspects: Sequence[Suspect], observations: Sequence[Observation]
) -> tuple[list[Rating], float]:
    """Every suspect's rating, most believable first, and the posterior of none of them."""
    weights = [_log_weight(suspect, observations) for suspect in suspects]
    none = math.log(PRIOR_NONE_OF_THESE) + sum(
        _power(o) * math.log(1 / len(VALUES[o.observable])) for o in observations
    )
    top = max([*weights, none])
    scaled = [math.exp(weight - top) for weight in weights]
    total = sum(scaled) + math.exp(none - top)
    ratings = [
        Rating(
            suspect=suspect,
            posterior=weight / total,
            predicted=tuple(o for o in observations if allows(suspect, o) is True),
            contradicted_by=tuple(o for o in observations if allows(suspect, o) is False),
        )
        for suspect, weight in zip(suspects, scaled, strict=True)
    ]
    ratings.sort(key=lambda rating: (-rating.posterior, rating.suspect.id))
    return ratings, math.exp(none - top) / total


def allows(suspect: Suspect, observation: Observation) -> bool | None:
    """Whether the suspect allows what was observed; None where it says nothing about it."""
    predictions: Mapping[str, frozenset[str]] = suspect.suspect_class.predicts
    if observation.hop != suspect.hop or observation.observable not in predictions:
        return None
    return observation.value in predictions[observation.observable]


def _log_weight(suspect: Suspect, observations: Sequence[Observation]) -> float:
    if not suspect.suspect_class.is_fault and not _needs_seen(suspect, observations):
        # An explanation that nothing was seen of explains nothing; a fault may still be asked for.
        return -math.inf
    if suspect.suspect_class.total and _broken(suspect, observations):
        return -math.inf
    total = math.log(suspect.suspect_class.prior)
    for observation in observations:
        total += _power(observation) * math.log(_chance(suspect, observation))
    return total


def _broken(suspect: Suspect, observations: Sequence[Observation]) -> bool:
    """Whether something that it excludes was seen every time, and more than once."""
    return any(o.times == o.tries > 1 and allows(suspect, o) is False for o in observations)


def _needs_seen(suspect: Suspect, observations: Sequence[Observation]) -> bool:
    seen = {o.observable for o in observations if o.hop == suspect.hop}
    return seen.issuperset(suspect.suspect_class.needs)


def _chance(suspect: Suspect, observation: Observation) -> float:
    values = len(VALUES[observation.observable])
    allowed = allows(suspect, observation)
    if allowed is None:
        return 1 / values
    named = len(suspect.suspect_class.predicts[observation.observable])
    if allowed:
        return (1 - SURPRISE) / named
    return SURPRISE / max(1, values - named)


def _power(observation: Observation) -> int:
    return min(observation.times, REPEATS_COUNTED_MAX)
