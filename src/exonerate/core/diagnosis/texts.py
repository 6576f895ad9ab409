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
from dataclasses import replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, entry_hop, probeable
from exonerate.core.diagnosis.axes.axis import beside
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.sense import FOREIGN, GARBLED
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.wire.exchange import ContentFacts, Exchange

AGAIN = "content-again@"
NO_TEXT = "no text"
LIKE_LENGTH = 0.5
"""Sensible answers to one question are about as long: the shorter at least this share."""


def same_text(hop: Hop, facts: Facts, deployment: Deployment) -> Observation | None:
    """`same` or `differs`: texts asked for at the hop against those past it, round by round."""
    past = {h.name for h in beyond(deployment, hop.name) if probeable(h)}
    # A box further in may change the text as well: it is the next hop that tells about this one.
    nearest = past - {h.name for p in past for h in beyond(deployment, p)}
    compared = differing = 0
    if past and _engine_differs(facts):
        return None
    for scene in {s.scene for s in facts.sessions if s.plan.name.startswith("content")}:
        own = [s for s in facts.sessions if s.scene == scene]
        reference = _texts([s for s in own if _is_content(s) and s.hop in nearest])
        again = _texts([s for s in own if s.plan.name.startswith(AGAIN)])
        through = _texts([s for s in own if _is_content(s) and s.hop == hop.name])
        for number, texts in through.items():
            settled = reference.get(number, set())
            if nearest == past:
                settled = settled | again.get(number, set())
            if number not in again or len(settled) != 1 or not texts:
                continue
            compared += 1
            differing += texts != settled
    if compared == 0:
        return None
    value = "differs" if differing * 2 > compared else "same"
    times = differing if value == "differs" else compared - differing
    return Observation(hop.name, "same-text", value, times, compared)


def texts_past(seen: Sequence[Observation], deployment: Deployment) -> list[Observation]:
    """For each hop: that a hop further in changes texts, so that not all is well behind it."""
    changing = [o for o in seen if o.observable == "same-text" and o.value == "differs"]
    return [
        replace(o, hop=hop.name, observable="texts-past")
        for hop in deployment.hops
        for o in changing
        if o.hop in {h.name for h in beyond(deployment, hop.name)}
    ]


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
    controls = [
        session
        for session in facts.sessions
        if session.plan.name.startswith("control-load-") and session.hop in reached
    ]
    values = [value for session in controls for value in _crowd_values(session, facts)]
    if not values:
        return None
    worst = next(v for v in ("foreign", "garbled", "unlike", "diverges", "same") if v in values)
    return Observation(hop.name, "load-text", worst, values.count(worst), len(values))


def _crowd_values(control: Session, facts: Facts) -> Iterator[str]:
    """Round by round: what is wrong in either crowd, or how the texts of the two firsts differ."""
    name = control.plan.name
    changed = name.replace("control-", "axis-", 1)
    sides = [s for s in facts.sessions if s.scene == control.scene]
    other = next((s for s in sides if s.plan.name == changed), None)
    if other is None:
        return
    crowds = (beside(name, control.hop), beside(changed, control.hop))
    others = [s for s in sides if s.plan.name.startswith(crowds)]
    for one, two in zip(control.rounds, other.rounds, strict=False):
        beside_them = [
            r for s in others for r in s.rounds if r.exchange.round == one.exchange.round
        ]
        value = _compared([one.exchange, two.exchange], [r.exchange for r in beside_them])
        if value is not None:
            yield value


def _compared(pair: Sequence[Exchange], crowd: Sequence[Exchange]) -> str | None:
    defects = {defect for exchange in (*pair, *crowd) for defect in exchange.content.defects}
    if FOREIGN in defects:
        return "foreign"
    if GARBLED in defects:
        return "garbled"
    one, two = (exchange.content for exchange in pair)
    if one.text_sha256 is None or two.text_sha256 is None or defects:
        return None
    if one.text_sha256 == two.text_sha256:
        return "same"
    begins_alike = one.text_prefixes[:1] == two.text_prefixes[:1] != ()
    shorter, longer = sorted((one.words, two.words))
    return "diverges" if begins_alike and shorter >= LIKE_LENGTH * longer else "unlike"


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
            digest = _digest(round_.exchange.content)
            if digest is not None and round_.outcome in ("ok", "slow"):
                found.setdefault(round_.exchange.round, set()).add(digest)
    return found


def _digest(content: ContentFacts) -> str | None:
    """The hash of the text; a whole answer in which nothing can be read is a text, too."""
    unreadable = content.meaningful_events == 0 and content.done_seen and not content.defects
    return NO_TEXT if unreadable and content.text_sha256 is None else content.text_sha256
