"""Axes of the connection: fresh or kept, how long it is idle, what keeps it alive."""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import Axis
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.scene import ProbeSession

KEEPALIVE_S = 1.0
IDLE_SHARE, IDLE_MAX_S = 0.2, 1.0
"""Hardly anything closes or forgets a connection that was idle for so short a time."""


def _keepalive(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    return replace(session, tcp_keepalive_s=KEEPALIVE_S)


def _idle(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    if session.think_s <= 0 or session.rounds == 1:
        return None
    return replace(session, think_s=min(IDLE_MAX_S, session.think_s * IDLE_SHARE))


def _fresh(session: ProbeSession, _: Facts, __: Deployment) -> ProbeSession | None:
    # The first request of a connection is on a new one already.
    same = session.connection == "fresh" or session.rounds == 1
    return None if same else replace(session, connection="fresh")


AXES = (
    Axis(
        slug="keepalive",
        changed="with TCP keep-alive probes every second",
        vary=_keepalive,
    ),
    Axis(
        slug="idle",
        changed="with a fifth of the idle time between rounds, a second at most",
        vary=_idle,
        from_the_first=False,
    ),
    Axis(
        slug="fresh",
        changed="with a new connection for each round",
        vary=_fresh,
        from_the_first=False,
    ),
)
