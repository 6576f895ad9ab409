"""When the sessions of a scene begin, so that a clock and a timer come apart.

A scene begins when the one before has ended. Where answers are ended by a clock of the hop, that is
at the same moment of its cycle each time, and all of them would last as long as if a timer had
ended them.
"""

from __future__ import annotations

from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.observables import BROKEN_OFF

START_OFFSETS_S, START_OFFSETS_FROM_S = (0.0, 1.3, 0.6, 1.9), 1.0
"""How much later a scene begins to ask, where answers were broken off after so long."""


def start_offset_s(facts: Facts, number: int) -> float:
    """How many seconds later than usual the scene of this number begins to ask."""
    broken = [
        s.failed
        for s in facts.sessions
        if s.victim_shaped and s.failed is not None and s.failed.outcome in BROKEN_OFF
    ]
    if not any(round_.total_s >= START_OFFSETS_FROM_S for round_ in broken):
        return 0.0
    return START_OFFSETS_S[number % len(START_OFFSETS_S)]
