"""A hop's faces as logs show them, for observables that sockets could not give.

The hop's own log tells whether a request was sent on, how often, and who broke off; the log of
the next hop tells that a request arrived there. That a log is silent about a request proves
nothing: most write a line only at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import is_engine, next_hops
from exonerate.core.diagnosis.carried import Passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.logs.entry import LogEntry, port_of
from exonerate.core.diagnosis.logs.matching import line_about
from exonerate.core.diagnosis.suspect import Observation

BY = "by "
"""How the text of an observation begins that other things than sockets showed."""


def logged(facts: Facts, session: Session, round_: Round, hop: Hop) -> LogEntry | None:
    """What the hop's log says about one request of a session."""
    lines = facts.beside.log_lines
    if not lines:
        return None
    return line_about(lines, round_.exchange, hop.name, entered_here=session.hop == hop.name)


def logged_passage(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> Passage | None:
    """What became of one request at a hop, by its own log or by the next hop's."""
    if is_engine(hop):
        return None
    own = logged(facts, session, round_, hop)
    if own is not None and own.dialled is not None:
        return _passage(own, deployment)
    for other in next_hops(deployment, hop.name):
        arrived = logged(facts, session, round_, other)
        if arrived is not None:
            left = "answered" if arrived.sent_bytes else "yes"
            return Passage(left, 1, source="log")
    return None


def by_source(observation: Observation | None, passages: Sequence[Passage]) -> Observation | None:
    """The observation, saying so where it is not the sockets that showed it."""
    sources = sorted({p.source for p in passages} - {"sockets"})
    if observation is None or not sources:
        return observation
    named = [
        "packets on this host" if source == "packets" else f"its {source}" for source in sources
    ]
    return replace(observation, text=f"{BY}{' and '.join(named)}")


def ended_by_next(facts: Facts, session: Session, round_: Round, hop: Hop) -> bool:
    """Whether the hop's log says that the next hop broke the exchange off."""
    own = logged(facts, session, round_, hop)
    return own is not None and own.ended_by_next


def unread_logs(facts: Facts) -> list[str]:
    """What of the logs that were named could not be read or understood."""
    missing: list[str] = []
    for hop, state in facts.beside.logs:
        if state.error is not None:
            missing.append(f"the log of `{hop}`: {state.error}")
        elif state.lines and state.unknown_lines == state.lines:
            missing.append(f"the log of `{hop}`: none of its lines is of a known format")
        elif state.skipped_bytes:
            missing.append(f"the log of `{hop}`: {state.skipped_bytes} bytes came too fast")
    return missing


def _passage(entry: LogEntry, deployment: Deployment) -> Passage:
    if not entry.dialled:
        return Passage("no", source="log")
    port = port_of(entry.upstream)
    elsewhere = None if port is None else all(port != _port(hop) for hop in deployment.hops)
    left = "answered" if entry.answered else "yes"
    return Passage(left, max(1, entry.attempts), elsewhere=elsewhere, source="log")


def _port(hop: Hop) -> int | None:
    return port_of(hop.url.partition("//")[2].partition("/")[0])
