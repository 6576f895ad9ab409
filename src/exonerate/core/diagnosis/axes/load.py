"""Axes of the load: how many of the victim's sessions run at once.

A victim with other sessions beside it is tried alone; one that is alone is tried in a crowd, since
a fault of the batch needs one. Both sides ask the same questions: their texts can be compared.
"""

from __future__ import annotations

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import ProbeSession

CROWD = 4
"""How many sessions are a crowd, for a victim that is alone."""


def _unchanged(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    return session


def _other_crowd(deployment: Deployment) -> int | None:
    return 1 if deployment.victim.concurrency > 1 else CROWD


LOAD = Axis(
    slug="load",
    changed="in another crowd",
    vary=_unchanged,
    crowd=_other_crowd,
    same_prompts=True,
)
AXES = (LOAD,)
