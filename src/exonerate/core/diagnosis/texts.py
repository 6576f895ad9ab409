"""Whether the same question gets the same text at every entry, and idle connections survive.

Content probes ask the same prompts at temperature 0 at every hop, and twice at the innermost one.
Where that one differs from itself, the engine is not deterministic and differences tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, entry_hop, probeable
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.suspect import Observation

AGAIN = "content-again@"


def same_text(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """`same` or `differs`: texts asked for at the hop against those past it, round by round."""
    past = {h.name for h in beyond(deployment, hop.name) if probeable(h)}
    compared = differing = 0
    for scene in {s.scene for s in facts.sessions if s.plan.name.startswith("content")}:
        own = [s for s in facts.sessions if s.scene == scene]
        reference = _texts([s for s in own if _is_content(s) and s.hop in past])
        again = _texts([s for s in own if s.plan.name.startswith(AGAIN)])
        through = _texts([s for s in own if _is_content(s) and s.hop == hop.name])
        for number, texts in through.items():
            settled = reference.get(number, set()) | again.get(number, set())
            if number not in again or len(settled) != 1 or not texts:
                continue
            compared += 1
            differing += texts != settled
    if compared == 0:
        return None
    value = "differs" if differing * 2 > compared else "same"
    times = differing if value == "differs" else compared - differing
    return Observation(hop.name, "same-text", value, times, compared)


def closed_while_idle(
    hop: Hop, sessions: Sequence[Session], deployment: Deployment
) -> Observation | None:
    """What became of idle connections at the entry: `never` closed, `always`, `after-a-while`.

    `after-a-while`: closed whenever idle longer than some time, open whenever shorter, both seen.
    """
    if hop.name != entry_hop(deployment).name:
        return None
    # A connection that was closed has no idle time of its own any more: the planned pause tells.
    reused = [
        (s.plan.think_s, r.exchange.connection.closed_while_idle)
        for s in sessions
        if s.hop == hop.name and s.plan.connection == "reuse"
        for r in s.rounds
        if r.exchange.round > 1
    ]
    closed = [idle_s for idle_s, was_closed in reused if was_closed]
    kept = [idle_s for idle_s, was_closed in reused if not was_closed]
    if not reused:
        return None
    if not closed or not kept:
        value = "always" if closed else "never"
        return Observation(hop.name, "closed-while-idle", value, len(reused), len(reused))
    if max(kept) >= min(closed):
        return None
    text = f"open after {max(kept):.1f} s, closed after {min(closed):.1f} s"
    return Observation(
        hop.name, "closed-while-idle", "after-a-while", len(closed), len(closed), text
    )


def _is_content(session: Session) -> bool:
    return session.plan.name == f"content@{session.hop}"


def _texts(sessions: Sequence[Session]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for session in sessions:
        for round_ in session.rounds:
            digest = round_.exchange.content.text_sha256
            if digest is not None and round_.outcome in ("ok", "slow"):
                found.setdefault(round_.exchange.round, set()).add(digest)
    return found
