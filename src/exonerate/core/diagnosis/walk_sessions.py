"""The sessions of walks: small requests in a row at a hop, and the same row past it.

A walk over the number of the request repeats a fault that counts requests on a connection sooner
than the victim's session does. Where the victim waits anyway, it is sent meanwhile. Walk and row
take turns, request by request, the walk ahead. A walk is given up only once its row was answered
while it waited: what had stopped everybody for a moment has let it go by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from exonerate.core.deployment.model import Hop
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.lanes import lane_beside
from exonerate.core.diagnosis.vocabulary import ANSWERED
from exonerate.core.scene import ProbeSession

WALK, BESIDE = "walk-", "beside-walk"
WALK_TOKENS = 4
"""An answer of a walk is short: what is asked is whether one comes."""
SMALL_SHARE = 4
"""Its prompt has this part of the victim's first one, while no size is known to go well."""
PAUSE_S = 0.05
"""Between the requests of a walk. A server may close its connection after an answer, as llama.cpp
does after every stream (b10964), whatever it announces; a request that is sent in the same moment
would be lost with it."""
LOOK_S = 0.4
"""How much longer a walk waits once its row was answered: what held both up is over for both."""
COMPARED = ("number", "size")
"""Walks with a row beside them: they are quick, and repeat the fault."""
TIMES_IN_A_WAIT = 2
"""So many of them, with the wait itself, are as many repetitions as a conviction needs."""


def walk_name(what: str, hop: str, time: int = 1) -> str:
    """How a walk over `what` at the hop is called, the `time`-th one of its scene."""
    return f"{WALK}{what}{_mark(time)}@{hop}"


def beside_name(hop: str, walked: str, time: int = 1) -> str:
    """How the row at a hop is called that is compared with a walk at the hop `walked` before it."""
    return f"{BESIDE}{_mark(time)}@{hop}/{walked}"


def in_a_walk(session: ProbeSession) -> bool:
    """Whether the session is a walk, or is beside one: shorter than the victim's."""
    return session.name.startswith((WALK, BESIDE))


def walks_while_waiting(row: ProbeSession, past: Hop) -> tuple[ProbeSession, ...]:
    """Walks over the number to take while a round of the victim waits, in pairs, one by one.

    `row`: many requests at its hop on new connections. It comes first, and where one of them fails
    as well there is nothing to walk over. `past`: the next hop that can be asked.
    """
    sessions: list[ProbeSession] = []
    before: tuple[str, ...] = ()
    prompt = row.request.prompt
    small = replace(
        row.request,
        prompt=replace(
            prompt,
            prompt_tokens=max(1, prompt.prompt_tokens // SMALL_SHARE),
            salt=f"{prompt.salt}-walk",
        ),
        max_tokens=min(row.request.max_tokens, WALK_TOKENS),
        body_ref=None,
    )
    for time in range(1, TIMES_IN_A_WAIT + 1):
        here, there = walk_name("number", row.hop, time), beside_name(past.name, row.hop, time)
        walk = replace(
            row,
            name=here,
            request=small,
            connection="reuse",
            think_s=PAUSE_S,
            after=(row.name,),
            once_over=before,
        )
        beside = replace(
            walk,
            name=there,
            hop=past.name,
            url=past.url,
            lane=lane_beside(past.name),
            no_longer_than=(here,),
            behind=here,
        )
        sessions += (walk, beside)
        before = (here, there)
    return tuple(sessions)


def walks_through(facts: Facts, hops: Iterable[Hop]) -> list[Session]:
    """The walks, and the rows beside them, that entered at one of these hops."""
    names = {hop.name for hop in hops}
    return [s for s in facts.sessions if s.hop in names and in_a_walk(s.plan) and s.conclusive]


def repeats_in_walks(facts: Facts, hop: str) -> int:
    """How many walks repeated the victim's failure at this hop, and not past it at the same time.

    A walk over the number repeats one only at the same request, and any only in the same way.
    """
    copies = [s.failed for s in facts.sessions if s.hop == hop and s.victim_shaped and s.failed]
    return sum(
        any(_repeats(failed, copy, what) for copy in copies)
        and any(_went_on(row, failed) for row in _rows(facts, walk, time))
        for what, time, walk in _walks_at(facts, hop)
        if (failed := walk.failed) is not None
    )


def _walks_at(facts: Facts, hop: str) -> Iterator[tuple[str, int, Session]]:
    for what in COMPARED:
        for time in range(1, TIMES_IN_A_WAIT + 1):
            name = walk_name(what, hop, time)
            yield from ((what, time, s) for s in facts.sessions if s.plan.name == name)


def _rows(facts: Facts, walk: Session, time: int) -> list[Session]:
    """What was sent past the walk's hop beside it."""
    return [
        s
        for s in facts.sessions
        if s.scene == walk.scene and s.plan.name == beside_name(s.hop, walk.hop, time)
    ]


def _repeats(failed: Round, copy: Round, what: str) -> bool:
    numbers = {r.exchange.connection.request_number for r in (failed, copy)}
    return failed.outcome == copy.outcome and (what != "number" or len(numbers) == 1)


def _went_on(row: Session, failed: Round) -> bool:
    """Whether nothing of the row failed, and it was answered as far as the walk came."""
    good = [r.exchange.round for r in row.rounds if r.outcome in ANSWERED]
    return row.failed is None and max(good, default=0) >= failed.exchange.round


def _mark(time: int) -> str:
    return f"-{time}" if time > 1 else ""
