"""What is asked beside the victim's session, and how that went: new connections, small requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from exonerate.core.diagnosis.facts import VICTIM_SHAPED, Facts, Session
from exonerate.core.diagnosis.lanes import lane_beside
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.diagnosis.walk_sessions import BESIDE, WALK
from exonerate.core.scene import ProbeSession

SMALL = "small@"
"""How the names of small requests begin that are sent while the victim's own waits."""
FRESH = "fresh@"
"""How the names of sessions begin that send each request on a connection of its own."""
SMALL_SHARE = 4
"""A small request has this part of the victim's first prompt."""


def small_one(session: ProbeSession, place: str) -> ProbeSession:
    """A small request at the session's hop, on a new connection, for when nobody past it is asked.

    It tells a path on which nothing passes any more from one that keeps this request alone.
    """
    recipe = session.request
    tokens = max(1, recipe.prompt.prompt_tokens // SMALL_SHARE)
    small = replace(recipe.prompt, prompt_tokens=tokens, growth_tokens=0)
    return ProbeSession(
        name=f"{SMALL}{session.hop}/{place}",
        hop=session.hop,
        url=session.url,
        request=replace(recipe, prompt=small, body_ref=None),
        rounds=1,
        connection="fresh",
        in_turn=True,
        lane=lane_beside(session.hop),
        think_s=0.0,
        deadline_s=session.deadline_s,
    )


def meanwhile(hop: str, name: str, facts: Facts, hops: set[str]) -> Observation | None:
    """How the victim's request went on new connections while the victim's own waited."""
    return _alike(
        hop,
        name,
        (
            s
            for s in facts.sessions
            if s.during_stall is not None
            and s.during_stall.startswith(VICTIM_SHAPED)
            and not s.plan.name.startswith((SMALL, FRESH, WALK, BESIDE))
            and s.hop in hops
            and while_waiting(s, facts)
        ),
    )


def small_meanwhile(hop: str, facts: Facts) -> Observation | None:
    """How small requests went while the victim's own waited, or with nothing else under way."""
    sessions = (
        s
        for s in facts.sessions
        if s.plan.name.startswith(f"{SMALL}{hop}/")
        and (s.during_stall is None or while_waiting(s, facts))
    )
    return _alike(hop, "small-meanwhile", sessions)


def while_waiting(side: Session, facts: Facts) -> bool:
    """Whether the request went as it did while that round waited for whose sake it was sent.

    What was sent, or answered, after its end says nothing of the time before.
    """
    waited = [
        r.exchange
        for s in facts.sessions
        if s.scene == side.scene and s.plan.name == side.during_stall
        for r in s.rounds
    ]
    for round_ in side.rounds[:1]:
        sent_ns, told_ns = round_.exchange.begun_ns, round_.exchange.first_token_ns
        until_ns = [e.ended_ns for e in waited if e.begun_ns <= sent_ns < e.ended_ns]
        return bool(until_ns) and (told_ns is None or told_ns <= max(until_ns))
    return False


def fresh_session(hop: str, facts: Facts) -> Observation | None:
    """How many requests went, each on a connection of its own."""
    return _alike(hop, "fresh-session", fresh_sessions(hop, facts))


def fresh_sessions(hop: str, facts: Facts) -> list[Session]:
    """Those sessions on new connections that failed, or went on for long enough to tell something.

    That is for more requests than it took the victim's own connection to fail.
    """
    failing = [
        s.failed.exchange.connection.request_number
        for s in facts.sessions
        if s.victim_shaped and s.failed is not None and s.plan.connection == "reuse"
    ]
    enough = min(failing, default=0)
    return [
        s
        for s in facts.sessions
        if s.plan.name == f"{FRESH}{hop}"
        and (s.failed is not None or sum(r.outcome != "unfinished" for r in s.rounds) > enough)
    ]


def at_round(probe: ProbeSession, number: int) -> ProbeSession:
    """The probe as it is sent while the round of that number waits.

    One that asks once asks with the history of that round; one that asks more often on a single
    connection as often as the one that waits was asked, and on new ones once more than that.
    """
    if probe.rounds == 1:
        return replace(probe, first_round=number)
    wanted = number if probe.connection == "reuse" else number + 1
    return replace(probe, rounds=min(probe.rounds, wanted))


def _alike(
    hop: str, name: str, sessions: Iterator[Session] | Sequence[Session]
) -> Observation | None:
    """Their common outcome; None where they had none, or different ones."""
    values = ["ok" if s.failed is None else "fails" for s in sessions if s.conclusive]
    if len(set(values)) != 1:
        return None
    return Observation(hop, name, values[0], len(values), len(values))
