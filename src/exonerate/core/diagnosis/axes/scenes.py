"""The scene of one axis: the changed session and the unchanged one, turn by turn at one hop.

The order of each pair is turned over from try to try (the two never run one after the other as
blocks, and a fault that counts requests cannot fall into step with one of them). Only one request
is under way at the hop at a time, unless the victim itself has more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.diagnosis.axes.axis import Axis, beside
from exonerate.core.diagnosis.facts import Facts, Session
from exonerate.core.diagnosis.inquiries import (
    Shape,
    counters_of,
    victim_session,
    watch_of,
)
from exonerate.core.diagnosis.stalls import patience_of, stalls_of
from exonerate.core.instant import seconds_between
from exonerate.core.scene import ProbeSession, Scene

TRIES = 3
ROUNDS_WITHOUT_FAILURE = 3
"""A symptom of the whole answer (a burst, a late token) shows in any round."""
PAUSE_S = 0.1
LINGER_S = 1.0


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What to vary, and at which hop."""

    axis: Axis
    hop: Hop


def axis_scene(
    deployment: Deployment, facts: Facts, inquiry: Inquiry, seed: int, *, gentle: bool = False
) -> Scene:
    """`TRIES` pairs of sessions; `applicable` has said that the axis can be varied here."""
    shape = _shape(facts, deployment, inquiry.hop, gentle=gentle)
    sessions: list[ProbeSession] = []
    previous: tuple[str, ...] = ()
    for number in range(1, TRIES + 1):
        arms = list(_pair(deployment, facts, inquiry, shape, number=number, seed=seed))
        for arm in arms if number % 2 else reversed(arms):
            together = [replace(s, once_over=previous, start_s=PAUSE_S) for s in arm]
            sessions.extend(together)
            previous = tuple(session.name for session in together)
    alone = [session for session in sessions if not session.name.startswith("crowd@")]
    victim = deployment.victim
    sockets = (watch_of(h) for h in deployment.hops)
    one_s = shape.rounds * (victim.think_s + victim.deadline_s)
    return Scene(
        id=f"axis-{inquiry.axis.slug}-{shape.number}",
        why=f"send the victim's session {inquiry.axis.changed} and unchanged, in turn, "
        f"at {inquiry.hop.name}",
        activities=(*sockets, *counters_of(deployment, shape), *sessions),
        triggers=tuple(
            trigger
            for session in alone
            for trigger in stalls_of(deployment, session, shape.patience, gentle=gentle)
        ),
        time_limit_s=2 * TRIES * one_s + victim.deadline_s + 10.0,
    )


def applicable(deployment: Deployment, facts: Facts, inquiry: Inquiry) -> bool:
    """Whether the axis changes anything about the victim's session at this hop."""
    shape = _shape(facts, deployment, inquiry.hop)
    session = victim_session(deployment, inquiry.hop, shape, 0)
    if inquiry.axis.vary(session, facts, deployment) is None:
        return False
    crowd = inquiry.axis.crowd
    return crowd is None or crowd(deployment) is not None


def _shape(facts: Facts, deployment: Deployment, hop: Hop, *, gentle: bool = False) -> Shape:
    """The victim's shape, ended with the round that is known to fail."""
    failing = [
        s.failed.exchange.round
        for s in facts.sessions
        if s.hop == hop.name and s.victim_shaped and s.failed is not None
    ]
    usual = min(deployment.victim.rounds, ROUNDS_WITHOUT_FAILURE)
    return Shape(
        number=len(facts.scenes) + 1,
        rounds=max(failing, default=usual),
        patience=patience_of(facts, deployment),
        fresh_session_at=None,
        fresh_rounds=0,
        gentle=gentle,
    )


def cost_s(facts: Facts, deployment: Deployment, hop: Hop) -> float:
    """How long a scene at the hop is likely to last, from the victim's sessions there."""
    own = [s for s in facts.sessions if s.hop == hop.name and s.victim_shaped and s.rounds]
    hang_s = patience_of(facts, deployment).hang_s
    return LINGER_S + 2 * TRIES * (PAUSE_S + max(_lasting_s(own, hang_s), default=0.0))


def _lasting_s(sessions: Sequence[Session], hang_s: float | None) -> Iterator[float]:
    """How long each would last now: hangs are waited for in full only once."""
    for session in sessions:
        first, last = session.rounds[0].exchange, session.rounds[-1].exchange
        lasted_s = seconds_between(first.begun_ns, last.ended_ns)
        failed = session.failed
        if hang_s is not None and failed is not None and failed.outcome == "hang":
            lasted_s -= max(0.0, failed.total_s - hang_s)
        yield lasted_s


def _pair(
    deployment: Deployment,
    facts: Facts,
    inquiry: Inquiry,
    shape: Shape,
    *,
    number: int,
    seed: int,
) -> Iterator[list[ProbeSession]]:
    axis, hop = inquiry.axis, inquiry.hop
    plain = replace(victim_session(deployment, hop, shape, seed), think_s=deployment.victim.think_s)
    changed = axis.vary(plain, facts, deployment)
    assert changed is not None
    usual = deployment.victim.concurrency
    crowd = axis.crowd(deployment) if axis.crowd else usual
    question = f"{axis.slug}@{hop.name}" if axis.same_prompts else None
    yield _together(plain, f"control-{axis.slug}-{number}@{hop.name}", usual, question)
    yield _together(changed, f"axis-{axis.slug}-{number}@{hop.name}", crowd or usual, question)


def _together(
    session: ProbeSession, name: str, crowd: int, question: str | None
) -> list[ProbeSession]:
    """The session, and beside it as many more as make the crowd."""
    others = [f"{beside(name, session.hop)}{n}" for n in range(2, crowd + 1)]
    first = _salted(replace(session, name=name), question or name)
    return [first, *(_salted(replace(session, name=one), one) for one in others)]


def _salted(session: ProbeSession, own: str) -> ProbeSession:
    """A prompt of its own, so that no prefix cache answers for the engine."""
    prompt = session.request.prompt
    salt = f"{prompt.salt}-{own}"
    return replace(session, request=replace(session.request, prompt=replace(prompt, salt=salt)))
