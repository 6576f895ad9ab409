"""The victim's own crowd: the sessions that run beside it where it has a concurrency.

Which of them a limit strikes is chance. One that fails past a hop is a failure of the victim's past
that hop, as much as if the session that is looked at most had been struck.
"""

from __future__ import annotations

from collections.abc import Iterable

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import Facts, Session

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
