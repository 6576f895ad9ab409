"""Axes of the load: how many of the victim's sessions run at once.

A victim with other sessions beside it is tried alone. One that is alone is not tried in a crowd,
which would be more than it asks for itself. Both sides ask the same questions: their texts can be
compared.
"""

from __future__ import annotations

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import ProbeSession


def _unchanged(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    return session


def _alone(deployment: Deployment) -> int | None:
    return 1 if deployment.victim.concurrency > 1 else None


LOAD = Axis(
    slug="load",
    changed="in another crowd",
    vary=_unchanged,
    crowd=_alone,
    same_prompts=True,
)
AXES = (LOAD,)
