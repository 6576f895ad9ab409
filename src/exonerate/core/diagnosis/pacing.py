"""When the next scene begins to ask, and how long it is idle between rounds.

Both are varied so that causes that would look alike come apart: a count of requests and an age, a
timer and a clock, two timers.
"""

from __future__ import annotations

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.dependence import idle_border
from exonerate.core.diagnosis.facts import Facts, Round
from exonerate.core.diagnosis.vocabulary import BROKEN_OFF

IDLE_RESOLUTION = 1.35
"""The idle time at which failures begin is looked for until it is known this well (a ratio)."""
START_OFFSETS_S, START_OFFSETS_FROM_S = (0.0, 1.3, 0.6, 1.9), 1.0
"""How much later a scene begins to ask, where answers were broken off after so long."""
THINK_FACTORS = (1.0, 0.5, 0.25, 1.0, 0.5, 0.25)
"""Idle time varies from scene to scene, so that a count of requests and an age come apart."""


def think_factor(facts: Facts, deployment: Deployment) -> float:
    """How long to be idle, varied; not where only the victim's own idle time brings the symptom."""
    think_s = deployment.victim.think_s
    sessions = [s for s in facts.sessions if s.victim_shaped and s.conclusive]
    needed = any(
        long.hop == short.hop and long.failed is not None and short.failed is None
        for long in sessions
        if long.plan.think_s == think_s
        for short in sessions
        if short.plan.think_s < think_s
    )
    copies = sum(scene.id.startswith("victim-") for scene in facts.scenes)
    return 1.0 if needed else THINK_FACTORS[copies % len(THINK_FACTORS)]


def start_offset_s(facts: Facts, number: int) -> float:
    """A later start where answers are broken off, so that a clock and a timer come apart.

    A scene begins when the one before has ended, so that what is ended by a clock would always
    have lasted as long.
    """
    broken = [
        s.failed
        for s in facts.sessions
        if s.victim_shaped and s.failed is not None and s.failed.outcome in BROKEN_OFF
    ]
    if not any(round_.total_s >= START_OFFSETS_FROM_S for round_ in broken):
        return 0.0
    return START_OFFSETS_S[number % len(START_OFFSETS_S)]


def late_inside(facts: Facts) -> bool:
    """Whether answers came late, or not in time, at a hop while at another they were broken off.

    What is broken off may go on in the engine; asked first, it would stand before what is waited
    for.
    """
    sessions = [s for s in facts.sessions if s.victim_shaped]
    broken = {s.hop for s in sessions if s.failed is not None and _broken_off(s.failed)}
    late = {s.hop for s in sessions if s.waiting and s.waiting.outcome in ("slow", "hang")}
    return bool(broken) and bool(late - broken)


def _broken_off(round_: Round) -> bool:
    return round_.outcome in BROKEN_OFF or round_.outcome == "server-error"


def telling_think_s(facts: Facts, deployment: Deployment) -> float | None:
    """The idle time that tells the most, once failures seem to begin at one: halfway, then long."""
    sessions = [s for s in facts.sessions if s.victim_shaped]
    failing = [s.hop for s in sessions if s.failed is not None]
    border = idle_border([s for s in sessions if s.hop in failing])
    if border is None or border.well <= 0:
        return None
    if border.failed / border.well < IDLE_RESOLUTION:
        return deployment.victim.think_s
    return (border.failed + border.well) / 2
