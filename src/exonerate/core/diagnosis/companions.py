"""Sessions that are like the victim's and run beside it: its own crowd, and repetitions meanwhile.

Which of them a limit strikes is chance. One that fails past a hop is a failure of the victim's past
that hop, as much as if the session that is looked at most had been struck.
"""

from __future__ import annotations

from collections.abc import Iterable

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.walk_sessions import in_a_walk

CROWD = "crowd@"


def failed_companions(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """Sessions of the crowd that entered at one of these hops and failed."""
    names = {hop.name for hop in hops}
    return [
        session
        for session in facts.sessions
        if session.hop in names
        and session.plan.name.startswith(CROWD)
        and session.failed is not None
    ]


def whole_copies(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """Sessions at these hops whose answers are as long as the victim's.

    Copies of its session, and the requests that were asked again while it waited.
    """
    names = {hop.name for hop in hops}
    return [
        session
        for session in facts.sessions
        if session.hop in names
        and not in_a_walk(session.plan)
        and (session.victim_shaped or session.during_stall is not None)
    ]
