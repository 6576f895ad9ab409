"""What the facts of a run amount to, before a decision is taken and put into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.case.records import Record
from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import entry_hop
from exonerate.core.diagnosis.axes.observed import flips
from exonerate.core.diagnosis.catalogue.registry import BUILT_IN, suspects_of
from exonerate.core.diagnosis.control import starved_path
from exonerate.core.diagnosis.facts import Facts, read_facts
from exonerate.core.diagnosis.observables import observations
from exonerate.core.diagnosis.posterior import Rating, rate
from exonerate.core.diagnosis.situations import without_shut_out
from exonerate.core.diagnosis.suspect import Observation, Suspect, SuspectClass
from exonerate.core.diagnosis.vocabulary import COMPLAINTS


@dataclass(frozen=True, slots=True)
class Judgement:
    """Facts, what was observed in them, and how every suspect fares."""

    facts: Facts
    deployment: Deployment
    observations: tuple[Observation, ...]
    ratings: tuple[Rating, ...]
    none_of_these: float
    stated: tuple[Observation, ...] = ()
    """What the operator said, among the observations."""
    foreign: tuple[SuspectClass, ...] = ()
    """The classes beside the built-in ones."""

    @property
    def top(self) -> Rating:
        """The most believable suspect."""
        return self.ratings[0]

    @property
    def believed(self) -> float:
        """The posterior of what the most believable suspect accuses, by all ways to have done it.

        Variants of one class at one hop differ in what shows them, not in who is to blame; and an
        explanation that blames nobody is the same whichever hop shows it.
        """
        top = self.top.suspect
        return sum(r.posterior for r in self.ratings if _says_the_same(r.suspect, top))

    def top_is(self, slug: str) -> bool:
        """Whether the most believable suspect is of that class."""
        return self.top.suspect.suspect_class.slug == slug

    def observed(self, name: str) -> Observation | None:
        """What was seen of one observable about the most believable suspect's hop."""
        hop = self.top.suspect.hop
        seen = (o for o in self.observations if o.hop == hop and o.observable == name)
        return next(seen, None)

    def times(self, name: str) -> int:
        """How often that was seen."""
        seen = self.observed(name)
        return seen.times if seen is not None else 0


def _says_the_same(one: Suspect, other: Suspect) -> bool:
    if one.suspect_class.is_fault or other.suspect_class.is_fault:
        return one.id == other.id
    return one.suspect_class.slug == other.suspect_class.slug


def _complaint(records: Sequence[Record], deployment: Deployment) -> list[Observation]:
    """What the victim complains of, as the operator said; a statement, so it counts once."""
    start = next((record.body for record in records if record.kind == "run_started"), {})
    options = start.get("options")
    symptom = options.get("symptom") if isinstance(options, Mapping) else None
    if symptom not in COMPLAINTS:
        return []
    return [Observation(entry_hop(deployment).name, "complaint", str(symptom), 1, 1)]


def judge(
    records: Sequence[Record], deployment: Deployment, foreign: Sequence[SuspectClass] = ()
) -> Judgement:
    """Everything that the records say about the suspects."""
    stated = _complaint(records, deployment)
    facts = without_shut_out(read_facts(records), deployment)
    return judge_facts(facts, deployment, stated, foreign=foreign)


def judge_facts(
    facts: Facts,
    deployment: Deployment,
    stated: Sequence[Observation] = (),
    *,
    foreign: Sequence[SuspectClass] = (),
) -> Judgement:
    """What these facts, and what the operator stated, say about the suspects."""
    observed = observations(facts, deployment)
    seen = [*observed, *flips(facts, deployment), *stated, *starved_path(observed, stated)]
    ratings, none = rate(suspects_of(deployment, (*BUILT_IN, *foreign)), seen)
    return Judgement(
        facts, deployment, tuple(seen), tuple(ratings), none, tuple(stated), tuple(foreign)
    )
