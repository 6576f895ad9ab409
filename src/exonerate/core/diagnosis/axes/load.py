"""Axes of the load: how many of the victim's sessions run at once."""

from __future__ import annotations

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import ProbeSession


def _unchanged(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    return session


def _alone(deployment: Deployment) -> int | None:
    return 1 if deployment.victim.concurrency > 1 else None


AXES = (
    Axis(slug="load", changed="alone, without its other sessions", vary=_unchanged, crowd=_alone),
)
