"""What the stated confidence means, and how much of it the run supports.

The confidence is the posterior of the class among all suspects, but never more than the tries of
the run support: had each of n requests come out as the class says by a chance that nobody knows,
the next one would with (n + 1) / (n + 2) (Laplace's rule of succession). So a verdict after eight
requests says 0.90 at the most, and none says 1.
"""

from __future__ import annotations

from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.judgement import Judgement

CONFIDENCE_MAX = 0.99
"""No amount of agreement makes this tool certain."""


def stated_confidence(judgement: Judgement) -> float:
    """The posterior of the most believable suspect, as far as the run supports it."""
    return supported(judgement.believed, tries_of(judgement.facts))


def supported(posterior: float, tries: int) -> float:
    """A posterior, capped by what so many tries support."""
    return round(min(CONFIDENCE_MAX, posterior, (tries + 1) / (tries + 2)), 4)


def tries_of(facts: Facts) -> int:
    """The requests of a run that came to an end; a conviction has none of them against it."""
    rounds = (round_ for session in facts.sessions for round_ in session.rounds)
    return sum(round_.outcome != "unfinished" for round_ in rounds)
