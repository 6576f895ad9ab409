"""Whether the same question gets the same text at every entry, and in every crowd.

Content probes ask the same prompts at temperature 0 at every hop, one after the other, and twice at
the innermost one. Where that one differs from itself in any scene, the engine is not
deterministic, and differences at the others tell nothing.

The pairs of the load axis ask the same questions alone and in a crowd. Texts that begin alike and
part later, each of them sensible, are what another batch does to rounding; texts without sense, or
with words of another request, are a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, entry_hop, probeable
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.sense import FOREIGN, GARBLED
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.wire.exchange import Exchange

AGAIN = "content-again@"
LIKE_LENGTH = 0.5
"""Sensible answers to one question are about as long: the shorter at least this share."""


def same_text(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """`same` or `differs`: texts asked for at the hop against those past it, round by round."""
    past = {h.name for h in beyond(deployment, hop.name) if probeable(h)}
    compared = differing = 0
    if past and _engine_differs(facts):
        return None
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


def _engine_differs(facts: Facts) -> bool:
    """Whether the innermost hop answered any question in two ways."""
    for scene in {s.scene for s in facts.sessions if s.plan.name.startswith(AGAIN)}:
        own = [s for s in facts.sessions if s.scene == scene]
        again = [s for s in own if s.plan.name.startswith(AGAIN)]
        first = [s for s in own if _is_content(s) and s.hop in {a.hop for a in again}]
        once, twice = _texts(first), _texts(again)
        if any(once[number] != twice[number] for number in once.keys() & twice.keys()):
            return True
    return False


def load_text(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """What a crowd does to the text: `same`, `diverges`, `unlike`, `garbled` or `foreign`."""
    reached = {hop.name, *(h.name for h in beyond(deployment, hop.name))}
    pairs = [
        (one.exchange, other.exchange)
        for session in facts.sessions
        if session.plan.name.startswith("control-load-") and session.hop in reached
        for one, other in _beside(session, facts)
        if "unfinished" not in (one.outcome, other.outcome)
    ]
    values = [value for pair in pairs if (value := _compared(*pair)) is not None]
    if not values:
        return None
    worst = next(v for v in ("foreign", "garbled", "unlike", "diverges", "same") if v in values)
    return Observation(hop.name, "load-text", worst, values.count(worst), len(values))


def _beside(control: Session, facts: Facts) -> Iterator[tuple[Round, Round]]:
    """The rounds of a control session, each with the same round of its counterpart."""
    name = control.plan.name.replace("control-", "axis-", 1)
    other = next(
        (s for s in facts.sessions if (s.scene, s.plan.name) == (control.scene, name)), None
    )
    if other is not None:
        yield from zip(control.rounds, other.rounds, strict=False)


def _compared(one: Exchange, other: Exchange) -> str | None:
    contents = (one.content, other.content)
    defects = {defect for content in contents for defect in content.defects}
    if FOREIGN in defects:
        return "foreign"
    if GARBLED in defects:
        return "garbled"
    if any(content.text_sha256 is None for content in contents) or defects:
        return None
    if one.content.text_sha256 == other.content.text_sha256:
        return "same"
    begins_alike = one.content.text_prefixes[:1] == other.content.text_prefixes[:1] != ()
    lengths = sorted(content.words for content in contents)
    return "diverges" if begins_alike and lengths[0] >= LIKE_LENGTH * lengths[1] else "unlike"


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
