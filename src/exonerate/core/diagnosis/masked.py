"""What a fault, or an explanation, may hide: second faults that could not have been seen.

Where the first one ends every session early, nothing comes of what needs longer; and whoever hands
its symptom on could have the same one of its own. That nothing else was found says nothing there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exonerate.core.deployment.topology import before
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.remaining import symptoms_of


def masked(found: Sequence[Judgement]) -> list[str]:
    """A sentence for each thing that the faults found, or the explanation, may hide."""
    return list(dict.fromkeys(line for one in found for line in _by(one)))


def _by(one: Judgement) -> Iterator[str]:
    hop = one.top.suspect.hop
    kinds = sorted(symptoms_of(one))
    if not kinds:
        return
    shown = " or ".join(kinds)
    outside = [h.name for h in before(one.deployment, hop) if h.name != hop]
    if outside:
        names = ", ".join(f"`{name}`" for name in outside)
        yield (
            f"a second fault that shows itself alike ({shown}) in {names}, whose requests pass "
            f"`{hop}`: the first may mask it"
        )
    reached, rounds = _reached(one), one.deployment.victim.rounds
    if 0 < reached < rounds:
        yield (
            f"what comes after round {reached} of {rounds} through `{hop}`: no session got "
            "further there, so that a second fault of later requests, older connections or larger "
            "bodies would be masked"
        )


def _reached(one: Judgement) -> int:
    """The last round that was answered through the hop, one that failed included."""
    passing = before(one.deployment, one.top.suspect.hop)
    sessions = victim_sessions(one.facts, passing)
    numbers = [round_.exchange.round for session in sessions for round_ in session.rounds]
    failed = any(session.failed is not None for session in sessions)
    return max(numbers, default=0) if failed else 0
