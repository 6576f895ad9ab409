"""What the facts of a run amount to, before a decision is taken and put into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.catalogue.registry import suspects_of
from exonerate.core.diagnosis.facts import Facts, read_facts
from exonerate.core.diagnosis.observables import observations
from exonerate.core.diagnosis.posterior import Rating, rate
from exonerate.core.diagnosis.suspect import Observation


@dataclass(frozen=True, slots=True)
class Judgement:
    """Facts, what was observed in them, and how every suspect fares."""

    facts: Facts
    deployment: Deployment
    observations: tuple[Observation, ...]
    ratings: tuple[Rating, ...]
    none_of_these: float

    @property
    def top(self) -> Rating:
        """The most believable suspect."""
        return self.ratings[0]

    def observed(self, name: str) -> Observation | None:
        """What was seen of one observable about the most believable suspect's hop."""
        hop = self.top.suspect.hop
        seen = (o for o in self.observations if o.hop == hop and o.observable == name)
        return next(seen, None)

    def times(self, name: str) -> int:
        """How often that was seen."""
        seen = self.observed(name)
        return seen.times if seen is not None else 0


def judge(records: Sequence[Record], deployment: Deployment) -> Judgement:
    """Everything that the records say about the suspects."""
    facts = read_facts(records)
    seen = observations(facts, deployment)
    ratings, none = rate(suspects_of(deployment), seen)
    return Judgement(facts, deployment, tuple(seen), tuple(ratings), none)
