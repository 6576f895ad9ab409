"""What varying one axis showed: the symptom went with the change, or it stayed.

`flips`: in the same scene the victim's session failed and the changed one did not, every time, or
the other way round; for a symptom that comes and goes, so much oftener on one side that chance
explains it with less than `CHANCE_MAX`. `same`: both failed every time. Anything else is not an
observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, probeable
from exonerate.core.diagnosis.axes.axis import Axis, beside, flip_name
from exonerate.core.diagnosis.axes.registry import AXES
from exonerate.core.diagnosis.chance import fisher_one_sided
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.observables import symptom, victim_sessions
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.vocabulary import ANSWERED

CHANCE_MAX = 0.01
SHAPES = ("burst", "jerky")


@dataclass(frozen=True, slots=True)
class Side:
    """How often the sessions of one side failed."""

    bad: int
    tries: int

    @property
    def always(self) -> bool:
        """Every one of them failed."""
        return 0 < self.bad == self.tries

    @property
    def never(self) -> bool:
        """None of them failed, and there were some."""
        return self.bad == 0 < self.tries


def flips(facts: Facts, deployment: Deployment) -> list[Observation]:
    """What every axis that was varied showed, for each hop that the varied requests passed."""
    return [
        observation
        for hop in deployment.hops
        for axis in AXES
        if (observation := _of_axis(hop, axis, facts, deployment)) is not None
    ]


def _of_axis(hop: Hop, axis: Axis, facts: Facts, deployment: Deployment) -> Observation | None:
    passing = {h.name for h in before(deployment, hop.name) if probeable(h)}
    past = [other for other in beyond(deployment, hop.name) if probeable(other)]
    reference = victim_sessions(facts, past)
    sessions = [s for s in _of_slug(facts, axis.slug) if s.hop in passing and s.conclusive]
    unchanged = [s for s in sessions if s.plan.name.startswith("control-")]
    control = _side(unchanged, reference, facts)
    # The shape of an answer is only compared where the shape is the symptom: a varied session may
    # ask for an answer of another length.
    shaped = any(symptom(s, reference) in SHAPES for s in unchanged)
    varied = [s for s in sessions if s.plan.name.startswith("axis-")]
    changed = _side(varied, reference if shaped else (), facts)
    value = _value(changed, control)
    if value is None:
        return None
    times = min(changed.tries, control.tries)
    text = f"{changed.bad} of {changed.tries} failed, unchanged {control.bad} of {control.tries}"
    return Observation(hop.name, axis.observable, value, times, times, text)


def _of_slug(facts: Facts, slug: str) -> Iterator[Session]:
    for session in facts.sessions:
        name = flip_name(session.plan.name)
        if name is not None and name[1] == slug and session.during_stall is None:
            yield session


def _side(sessions: Sequence[Session], reference: Sequence[Session], facts: Facts) -> Side:
    """A session counts with its crowd: the first of them to come may be the one that is spared."""
    bad = 0
    for session in sessions:
        together = [session, *crowd_of(session, facts)]
        bad += any(symptom(s, reference) not in ANSWERED for s in together if s.conclusive)
    return Side(bad, len(sessions))


def crowd_of(session: Session, facts: Facts) -> list[Session]:
    """The sessions that ran beside this one, to make its crowd."""
    names = beside(session.plan.name, session.hop)
    return [s for s in facts.sessions if s.scene == session.scene and s.plan.name.startswith(names)]


def _value(changed: Side, control: Side) -> str | None:
    if changed.always and control.always:
        return "same"
    if (changed.never and control.always) or (changed.always and control.never):
        return "flips"
    more, less = sorted((changed, control), key=lambda side: (-side.bad, side.tries))
    if not less.tries or not more.bad:
        return None
    rare = fisher_one_sided(more.bad, more.tries, less.bad, less.tries) < CHANCE_MAX
    return "flips" if rare else None
