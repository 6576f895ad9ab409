"""The upstream face of a hop, by whatever showed it: a tap, sockets, packets, its log, counters.

A tap, sockets and packets see bytes; a log and counters are the hop's own word, and are asked where
none of those is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.diagnosis.between import broke_off_at_tap, tapped_passage
from exonerate.core.diagnosis.captured import SOURCE, broke_off_in_packets, captured_passage
from exonerate.core.diagnosis.carried import Passage, passage, upstream_in_sight
from exonerate.core.diagnosis.counted import counted_passage
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.leaving import surplus
from exonerate.core.diagnosis.logged import BY, by_source, ended_by_next, logged_passage
from exonerate.core.diagnosis.suspect import Observation

UPSTREAM = ("request-left", "answer-held", "upstream-face")
"""The observables that show the upstream side of a hop."""


def passage_of(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> Passage | None:
    """What became of one request of a session at a hop; None if nothing showed it."""
    captured = captured_passage(facts, round_, hop, deployment)
    return (
        tapped_passage(facts, round_, hop, deployment)
        or (captured if captured is not None and captured.left != "no" else None)
        or passage(facts, session, round_, hop, deployment)
        or captured
        or logged_passage(facts, session, round_, hop, deployment)
        or counted_passage(facts, round_, hop, deployment)
    )


def upstream_face(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> Observation | None:
    """Whether the hop's upstream side was in sight during any round, and where it led.

    `elsewhere`: all that was seen to leave it went to addresses that are no hop here, so that
    somebody whom nobody named stands behind it.
    """
    seen, elsewhere, kept = False, 0, list[Passage]()
    for session in through:
        for round_ in session.rounds:
            found = passage_of(facts, session, round_, hop, deployment)
            if found is not None and found.source == SOURCE and round_.outcome == "ok":
                # That others passed says nothing of one which may be lost before it comes here.
                continue
            if found is not None and found.left != "no" and not found.elsewhere:
                return by_source(Observation(hop.name, "upstream-face", "seen", 1, 1), [found])
            if found is not None:
                elsewhere += bool(found.elsewhere)
                kept.append(found)
            seen = seen or upstream_in_sight(facts, session, round_, hop, deployment)
    if elsewhere:
        return Observation(hop.name, "upstream-face", "elsewhere", elsewhere, elsewhere)
    if not seen and not kept:
        return None
    return by_source(Observation(hop.name, "upstream-face", "seen", 1, 1), [] if seen else kept)


def own_upstream_side(facts: Facts, hop: Hop, seen: Sequence[Observation]) -> bool:
    """Whether what was seen of the hop's upstream side is surely its own.

    Who talks to the next hop may be somebody whom nobody named, where neither the sockets of the
    hop's process, nor its log or counters, nor a tap tell whose connections those are.
    """
    told = [o for o in seen if o.hop == hop.name and o.observable in UPSTREAM]
    process = any(
        bool(sample.processes)
        for (_, name), samples in facts.sockets.items()
        if name == hop.name
        for sample in samples
    )
    otherwise = any(o.text.startswith(BY) for o in told) or bool(facts.beside.tapped)
    return bool(told) and (process or otherwise)


def request_copies(
    hop: Hop, facts: Facts, deployment: Deployment, through: Sequence[Session]
) -> Observation | None:
    """Over how many connections the requests went on that were late or failed.

    A box may send a request again only once the engine is late, so that each round is looked at.
    Where more requests wait behind the box than before it, those count too that went well: what is
    late for everybody is late by comparison with nobody.
    """
    behind = surplus(hop, facts, deployment)
    busy = behind is not None and behind.value == "more"
    passed_over = ("unfinished",) if busy else ("ok", "unfinished")
    late = [(s, r) for s in through for r in s.rounds if r.outcome not in passed_over]
    found = (passage_of(facts, session, round_, hop, deployment) for session, round_ in late)
    gone = [p for p in found if p is not None and p.left != "no" and not p.crowded]
    several = sum(p.copies > 1 for p in gone)
    if not gone:
        return None
    value, times = ("several", several) if several else ("one", len(gone))
    return Observation(hop.name, "request-copies", value, times, len(gone))


def blames_next(
    facts: Facts, session: Session, round_: Round, hop: Hop, deployment: Deployment
) -> bool:
    """Whether the hop's log, a tap behind it or packets show that the next hop broke it off."""
    by_log = ended_by_next(facts, session, round_, hop)
    return (
        by_log
        or broke_off_at_tap(facts, round_, hop, deployment)
        or broke_off_in_packets(facts, round_, hop, deployment)
    )
