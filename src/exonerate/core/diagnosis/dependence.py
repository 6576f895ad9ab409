"""What failures depend on, read from rounds that differed by themselves: idle time and size.

Idle times differ from scene to scene and histories grow, so the victim's own sessions already say
whether what fails is what was idle for longer, or larger, than everything that went well. Varying
one of them on purpose is the business of `axes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import next_hops
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.suspect import Observation

TIMES_MIN = 2
AGREEING_MIN, RESOLUTION_MAX = 3, 2.0
BRIEF_S = 0.5
"""No timer forgets or closes connections that were idle for so short a time."""
ANSWERED = ("ok", "slow")


@dataclass(frozen=True, slots=True)
class Border:
    """The largest that went well and the smallest that failed."""

    well: float
    failed: float


def idle_border(sessions: Sequence[Session]) -> Border | None:
    """Between which idle times of a connection requests begin to fail; None without a border."""
    return _border([(r.exchange.connection.idle_s, r) for r in _reused(sessions)])


def size_border(sessions: Sequence[Session]) -> Border | None:
    """Between which sizes of a request, in bytes, they begin to fail; None without a border."""
    return _border([(float(r.exchange.request_bytes), r) for s in sessions for r in s.rounds])


def idle_dependence(hop: Hop, sessions: Sequence[Session]) -> Observation | None:
    """`longer-fails` where every failing idle time is longer than every good one.

    `unrelated` where that is not so, and at once where a connection failed that was hardly idle.
    """
    rounds = list(_reused(sessions))
    bad = [s.failed for s in sessions if s.failed is not None]
    first = [r for r in bad if not _is_reused(r)]
    brief = _hardly_idle(bad)
    if brief:
        return Observation(hop.name, "idle-dependence", "unrelated", len(brief), len(bad))
    border = None if first else idle_border(sessions)
    text = "" if border is None else f"well after {border.well:.1f} s, not {border.failed:.1f} s"
    return _seen(hop, "idle-dependence", ("longer-fails", border, text), [*rounds, *first])


def size_dependence(hop: Hop, sessions: Sequence[Session]) -> Observation | None:
    """`larger-fails` where every failing request is larger than every good one."""
    border = size_border(sessions)
    text = "" if border is None else f"{border.well:.0f} bytes pass, {border.failed:.0f} do not"
    rounds = [r for s in sessions for r in s.rounds]
    return _seen(hop, "size-dependence", ("larger-fails", border, text), rounds)


def next_idle(
    hop: Hop, facts: Facts, sessions: Sequence[Session], deployment: Deployment
) -> Observation | None:
    """Whether the next hop closes idle connections just where requests through this one fail.

    `same-time`: at each idle time that was tried at both, it had closed ours if and only if the
    session through the hop failed, and idle times on both sides of that are known; `not-parted`
    while they are not; `other-time` where it is not so; `stays-open` where it never closed one.
    """
    nexts = {other.name for other in next_hops(deployment, hop.name)}
    direct = [s for s in facts.sessions if s.hop in nexts and s.victim_shaped]
    closing = _by_idle(direct, closed=True)
    failing = _by_idle([s for s in sessions if s.plan.connection == "reuse"], closed=False)
    both = sorted(set(closing) & set(failing))
    if not any(failing[idle] for idle in both):
        return None
    if not any(closing[idle] for idle in both):
        return Observation(hop.name, "next-idle", "stays-open", len(both), len(both))
    agree = [idle for idle in both if failing[idle] == closing[idle]]
    if len(agree) < len(both):
        return Observation(hop.name, "next-idle", "other-time", len(both), len(both))
    well = [idle for idle in both if not failing[idle]]
    bad = [idle for idle in both if failing[idle]]
    if len(both) < AGREEING_MIN or not well or min(bad) > RESOLUTION_MAX * max(well):
        # Two timers that are far apart would look alike as well; and so would closings and failures
        # that have nothing to do with idle time, but then failures do not begin at one.
        failed = [s.failed for s in sessions if s.failed and _is_reused(s.failed)]
        if idle_border(sessions) is None or _hardly_idle(failed):
            return None
        return Observation(hop.name, "next-idle", "not-parted", len(both), len(both))
    return Observation(hop.name, "next-idle", "same-time", len(both), len(both))


def closing_border(sessions: Sequence[Session]) -> Border | None:
    """Between which idle times the peer closes our connections; None where it was not seen."""
    seen = _by_idle(sessions, closed=True)
    kept = [idle for idle, was in seen.items() if not was]
    closed = [idle for idle, was in seen.items() if was]
    if not closed or (kept and max(kept) >= min(closed)):
        return None
    return Border(max(kept, default=0.0), min(closed))


def _by_idle(sessions: Sequence[Session], *, closed: bool) -> dict[float, bool]:
    """For each planned pause whether the connection was closed in it, or whether a round failed."""
    found: dict[float, bool] = {}
    for session in sessions:
        later = [r for r in session.rounds if r.exchange.round > 1]
        if not later:
            continue
        if closed:
            hit = any(r.exchange.connection.closed_while_idle for r in later)
        else:
            hit = session.failed is not None
        idle_s = session.plan.think_s
        found[idle_s] = found.get(idle_s, False) or hit
    return found


def _hardly_idle(failed: Sequence[Round]) -> list[Round]:
    """Those that failed on a connection that was idle for too short a time for any timer."""
    return [r for r in failed if r.exchange.connection.idle_s < BRIEF_S]


def _reused(sessions: Sequence[Session]) -> Iterator[Round]:
    return (r for s in sessions for r in s.rounds if _is_reused(r))


def _is_reused(round_: Round) -> bool:
    return round_.exchange.connection.request_number > 1


def _border(values: Sequence[tuple[float, Round]]) -> Border | None:
    well = [value for value, round_ in values if round_.outcome in ANSWERED]
    failed = [value for value, r in values if r.outcome not in (*ANSWERED, "unfinished")]
    if not well or not failed or max(well) >= min(failed):
        return None
    return Border(max(well), min(failed))


def _seen(
    hop: Hop, name: str, found: tuple[str, Border | None, str], rounds: Sequence[Round]
) -> Observation | None:
    bad = sum(r.outcome not in (*ANSWERED, "unfinished") for r in rounds)
    good = sum(r.outcome in ANSWERED for r in rounds)
    if min(bad, good) < TIMES_MIN:
        return None
    value, border, text = found
    shown = value if border is not None else "unrelated"
    return Observation(hop.name, name, shown, bad, bad, text if border is not None else "")
