"""When a wait is long enough to look around, whom to ask meanwhile, and when to give it up.

A request that gets no answer is waited for until it has been silent `GIVE_UP_RATIO` times as long
as a direct answer ever is. Once one was, at a time at which the same request was answered to
others and no engine had anything to do, the next ones only repeat it: they are given up sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import beyond, is_engine, probeable
from exonerate.core.diagnosis.aside import FRESH, small_one, while_waiting
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.lanes import lane_beside
from exonerate.core.diagnosis.meanwhile import engine_state
from exonerate.core.diagnosis.walk_sessions import LOOK_S as LOOK_S_OF_A_WALK
from exonerate.core.diagnosis.walk_sessions import in_a_walk, walks_while_waiting
from exonerate.core.scene import ProbeSession, Stall

STALL_S_MIN = 1.0
FIRST_STALL_S = 1.5
"""Before any answer was timed, a wait this long makes the triggers look around."""
STALL_RATIO = 4.0
"""Later, a wait counts as a stall from this many times the slowest good answer past the hop."""
GIVE_UP_RATIO = 20.0
"""A hang is provisional once it exceeds this many times the longest silence of a direct answer."""
REPEATED_RATIO = 8.0
"""The same for a hang that repeats one which was waited for in full, past all that explains it."""
ASKING_S = 1.0
"""What it is likely to take until the side probes are answered."""
LOOK_S = 1.0
"""Counters are watched this long after the last probe was answered, so that they can be flat."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a round may wait before we look around, and before it is given up."""

    stall_s: float
    give_up_ratio: float = GIVE_UP_RATIO

    @property
    def hang_s(self) -> float | None:
        """How long a hang is likely to last; None where it may be waited for in full."""
        if self.give_up_ratio == GIVE_UP_RATIO:
            return None
        return self.stall_s + ASKING_S + LOOK_S


def patience_of(facts: Facts, deployment: Deployment) -> Patience:
    """What fits the answers and the hangs so far."""
    repeats = any(_hung_beside_answers(s, facts, deployment) for s in facts.sessions)
    return Patience(_stall_s(facts), REPEATED_RATIO if repeats else GIVE_UP_RATIO)


def stalls_of(
    deployment: Deployment, session: ProbeSession, patience: Patience, *, gentle: bool
) -> tuple[Stall, ...]:
    """Whom to ask and what to read while a round of this session waits.

    Whoever is asked at the same hop may wait in vain as well, and is given up as soon as that is
    plain.
    """
    place = session.hop if session.name.startswith("victim@") else session.name
    own = next(hop for hop in deployment.hops if hop.name == session.hop)
    past = [hop for hop in beyond(deployment, own.name) if probeable(hop)]
    asked = [own] if gentle else [own, *past]
    probes = [
        ProbeSession(
            name=f"meanwhile@{hop.name}/{place}",
            hop=hop.name,
            url=hop.url,
            # The very request that waits: the performer gives it the number of its round.
            request=session.request,
            rounds=1,
            connection="fresh",
            in_turn=True,
            lane=lane_beside(hop.name),
            think_s=0.0,
            deadline_s=deployment.victim.deadline_s,
        )
        for hop in asked
    ]
    if beyond(deployment, own.name) and not past and not is_engine(own):
        # First, since it may be the only one that is answered: the other one hangs for as long.
        probes.insert(0, small_one(session, place))
    stall = Stall(
        session=session.name,
        after_s=patience.stall_s,
        play=tuple(probes),
        give_up_ratio=patience.give_up_ratio,
        look_s=LOOK_S,
    )
    return (stall, *(stall_beside(deployment, probe, patience) for probe in probes))


def stall_beside(deployment: Deployment, session: ProbeSession, patience: Patience) -> Stall:
    """When to give up a side probe: once others were answered past its hop while it waited."""
    past = [hop.name for hop in beyond(deployment, session.hop) if probeable(hop)]
    return Stall(
        session=session.name,
        after_s=patience.stall_s,
        play=(),
        give_up_ratio=REPEATED_RATIO if past else None,
        look_s=LOOK_S,
        beside=tuple(past),
    )


def with_new_ones(
    trigger: Stall, deployment: Deployment, rounds: int, patience: Patience
) -> tuple[Stall, ...]:
    """The trigger, with many new connections after the first one at its hop was answered.

    What waits is waited for long enough for them, and they need not be tried later. Where all of
    them are answered, it may be the connection that counts: walks then try that, on others.
    """
    probes = [p for p in trigger.play if isinstance(p, ProbeSession)]
    first = next((p for p in probes if trigger.session == f"victim@{p.hop}"), None)
    if first is None or not beyond(deployment, first.hop):
        return (trigger,)
    prompt = first.request.prompt
    new_ones = replace(
        first,
        name=f"{FRESH}{first.hop}",
        request=replace(
            first.request, prompt=replace(prompt, growth_tokens=0, salt=f"{prompt.salt}-fresh")
        ),
        rounds=rounds + 1,
        after=(first.name,),
    )
    past = [hop for hop in beyond(deployment, first.hop) if probeable(hop)]
    walks = walks_while_waiting(replace(new_ones, rounds=rounds), past[0]) if past else ()
    pairs = zip(walks[::2], walks[1::2], strict=True)
    told = (stalls_in_a_walk(walk, [row], REPEATED_RATIO) for walk, row in pairs)
    return (
        replace(trigger, play=(*trigger.play, new_ones, *walks)),
        stall_beside(deployment, new_ones, patience),
        *chain.from_iterable(told),
    )


def stalls_in_a_walk(
    walk: ProbeSession, rows: Sequence[ProbeSession], ratio: float
) -> tuple[Stall, ...]:
    """When to give up a walk: where there is a row past it, once that was answered meanwhile.

    A row, or a walk without one, is compared with its own answers.
    """
    alone = Stall(
        session=walk.name,
        after_s=STALL_S_MIN,
        play=(),
        give_up_ratio=ratio,
        look_s=LOOK_S_OF_A_WALK,
    )
    beside = tuple(row.hop for row in rows)
    return (
        replace(alone, beside=beside),
        *(replace(alone, session=row.name) for row in rows),
    )


def _stall_s(facts: Facts) -> float:
    """How long a wait is longer than any good one so far, by far."""
    waits = [
        round_.wait_s
        for session in facts.sessions
        if session.victim_shaped and session.failed is None
        for round_ in session.rounds
        if round_.outcome == "ok"
    ]
    if not waits:
        return FIRST_STALL_S
    return max(STALL_S_MIN, STALL_RATIO * max(waits))


def _hung_beside_answers(session: Session, facts: Facts, deployment: Deployment) -> bool:
    """Whether the victim's round hung while others were answered and the engines were idle."""
    failed = session.failed
    if not session.victim_shaped or failed is None or failed.outcome != "hang":
        return False
    asked = [s for s in facts.sessions if s.during_stall == session.plan.name and s.rounds]
    past = [s for s in asked if s.scene == session.scene and s.hop != session.hop]
    # A row beside a walk may go on after the wait.
    meanwhile = [s for s in past if not in_a_walk(s.plan)]
    answered = bool(meanwhile) and all(s.failed is None for s in past)
    answered = answered and all(while_waiting(s, facts) for s in meanwhile)
    engines = [hop.name for hop in deployment.hops if is_engine(hop)]
    return answered and engine_state(facts, session, engines) == "idle"
