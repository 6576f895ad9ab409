"""The sessions of walks: small requests in a row at a hop, and the same row past it.

A walk over the number of the request repeats a fault that counts requests on a connection sooner
than the victim's session does. Where the victim waits anyway, it is sent meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.scene import ProbeSession

WALK, BESIDE = "walk-", "beside-walk@"
WALK_TOKENS = 4
"""An answer of a walk is short: what is asked is whether one comes."""
PAUSE_S = 0.05
"""Between the requests of a walk. A server may close its connection after an answer, as llama.cpp
does after every stream (b10964), whatever it announces; a request that is sent in the same moment
would be lost with it."""
LOOK_S = 0.2
"""Nothing is asked while a walk waits, and no counters are read: they need not become flat."""
COMPARED = ("number", "size")
"""Walks with a second one beside them, past the hop: they are quick, and repeat the fault."""
TIMES_IN_A_WAIT = 2
"""So many of them, with the wait itself, are as many repetitions as a conviction needs."""


def walk_name(what: str, hop: str, time: int = 1) -> str:
    """How a walk over `what` at the hop is called, the `time`-th one of its scene."""
    return f"{WALK}{what}@{hop}{_suffix(time)}"


def beside_name(hop: str, walked: str, time: int = 1) -> str:
    """How the row at a hop is called that is compared with a walk at the hop `walked` before it."""
    return f"{BESIDE}{hop}/{walked}{_suffix(time)}"


def in_a_walk(session: ProbeSession) -> bool:
    """Whether the session is a walk, or is beside one: shorter than the victim's."""
    return session.name.startswith((WALK, BESIDE))


def walks_while_waiting(row: ProbeSession, past: Hop) -> tuple[ProbeSession, ...]:
    """Walks over the number to take while a round of the victim waits, in pairs, one by one.

    `row`: many requests at its hop on new connections. It comes first, and where one of them fails
    as well there is nothing to walk over.
    """
    sessions: list[ProbeSession] = []
    before: tuple[str, ...] = ()
    for time in range(1, TIMES_IN_A_WAIT + 1):
        here, there = walk_name("number", row.hop, time), beside_name(past.name, row.hop, time)
        prompt = row.request.prompt
        walk = replace(
            row,
            name=here,
            request=replace(
                row.request,
                prompt=replace(prompt, salt=f"{prompt.salt}-walk"),
                max_tokens=min(row.request.max_tokens, WALK_TOKENS),
            ),
            connection="reuse",
            think_s=PAUSE_S,
            after=(row.name,),
            once_over=before,
        )
        beside = replace(walk, name=there, hop=past.name, url=past.url, no_longer_than=(here,))
        sessions += (walk, beside)
        before = (here, there)
    return tuple(sessions)


def walks_through(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """The walks, and the rows beside them, that entered at one of these hops."""
    names = {hop.name for hop in hops}
    return [s for s in facts.sessions if s.hop in names and in_a_walk(s.plan) and s.conclusive]


def repeats_in_walks(facts: Facts, hop: str) -> int:
    """How many walks failed at this hop, and not past it at the same time."""
    walks = [s for s in facts.sessions if s.failed is not None and _compared_at(s, hop)]
    rows = [s for s in facts.sessions if s.plan.name.startswith(BESIDE) and s.rounds]
    return sum(any(_beside(row, walk) and row.failed is None for row in rows) for walk in walks)


def _compared_at(session: Session, hop: str) -> bool:
    label = session.plan.name.partition("/")[0]
    return label in {walk_name(what, hop) for what in COMPARED}


def _beside(row: Session, walk: Session) -> bool:
    place = walk.plan.name.partition("@")[2]
    return row.scene == walk.scene and row.plan.name.partition("/")[2] == place


def _suffix(time: int) -> str:
    return f"/{time}" if time > 1 else ""
