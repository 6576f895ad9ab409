"""The scene of one axis: the changed session and the unchanged one, turn by turn at one hop.

The order of each pair is turned over from try to try (the two never run one after the other as
blocks, and a fault that counts requests cannot fall into step with one of them). Only one request
is under way at the hop at a time, unless the victim itself has more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, probeable
from exonerate.core.diagnosis.axes.axis import Axis, beside
from exonerate.core.diagnosis.facts import Facts, Round
from exonerate.core.diagnosis.inquiries import (
    Shape,
    counters_of,
    victim_session,
    watch_of,
)
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.pacing import ROUNDS_OF_A_SHAPE
from exonerate.core.diagnosis.stalls import patience_of, stalls_of
from exonerate.core.diagnosis.streaming import innermost, misshapen_at_once
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
    """Whether the axis changes anything at this hop that the symptom may depend on."""
    axis, hop = inquiry.axis, inquiry.hop
    if not axis.from_the_first and _misshapen_at_once(facts, deployment, hop):
        return False
    session = victim_session(deployment, hop, _shape(facts, deployment, hop), 0)
    if axis.vary(session, facts, deployment) is None:
        return False
    return axis.crowd is None or axis.crowd(deployment) is not None


def cost_s(facts: Facts, deployment: Deployment, inquiry: Inquiry, *, cured: float = 0.0) -> float:
    """How long the scene of an applicable inquiry is likely to last, from the rounds at the hop.

    `cured`: the chance that the change makes the symptom go, and with it the wait for a failure.
    """
    hop = inquiry.hop
    plain = _plain(deployment, hop, _shape(facts, deployment, hop), 0)
    changed = inquiry.axis.vary(plain, facts, deployment) or plain
    good_s, bad_s = _rounds_last_s(facts, deployment, hop)
    pairs = (_lasts_s(plain, good_s, bad_s), _lasts_s(changed, good_s, _mean(good_s, bad_s, cured)))
    return LINGER_S + TRIES * sum(pairs)


def _lasts_s(session: ProbeSession, good_s: float, last_s: float) -> float:
    pauses_s = sum(session.pause_before_s(number) for number in range(1, session.rounds + 1))
    return PAUSE_S + pauses_s + (session.rounds - 1) * good_s + last_s


def _mean(good_s: float, bad_s: float, cured: float) -> float:
    return cured * good_s + (1 - cured) * bad_s


def _rounds_last_s(facts: Facts, deployment: Deployment, hop: Hop) -> tuple[float, float]:
    """How long a good round and a failing one of the victim last at the hop now.

    Hangs are waited for in full only once. Where nothing fails, it is the shape that is wrong, and
    every round lasts as long.
    """
    own = [s for s in facts.sessions if s.hop == hop.name and s.victim_shaped]
    hang_s = patience_of(facts, deployment).hang_s
    bad = [_failing_lasts_s(failed, hang_s) for s in own if (failed := s.failed) is not None]
    good = [r.total_s for s in own for r in s.rounds if r.outcome in ("ok", "slow")]
    good_s = median(good) if good else max(bad, default=0.0)
    return good_s, max(bad, default=good_s)


def _failing_lasts_s(failed: Round, hang_s: float | None) -> float:
    if hang_s is None or failed.outcome != "hang":
        return failed.total_s
    return min(failed.total_s, hang_s)


def _shape(facts: Facts, deployment: Deployment, hop: Hop, *, gentle: bool = False) -> Shape:
    """The victim's shape, ended with the round that is known to fail."""
    failing = [
        s.failed.exchange.round
        for s in facts.sessions
        if s.hop == hop.name and s.victim_shaped and s.failed is not None
    ]
    at_once = not failing and _misshapen_at_once(facts, deployment, hop)
    usual = ROUNDS_OF_A_SHAPE if at_once else ROUNDS_WITHOUT_FAILURE
    return Shape(
        number=len(facts.scenes) + 1,
        rounds=max(failing, default=min(deployment.victim.rounds, usual)),
        patience=patience_of(facts, deployment),
        fresh_session_at=None,
        fresh_rounds=0,
        gentle=gentle,
    )


def _misshapen_at_once(facts: Facts, deployment: Deployment, hop: Hop) -> bool:
    """Whether every copy at the hop came in a wrong shape, from its first round on."""
    past = victim_sessions(facts, filter(probeable, beyond(deployment, hop.name)))
    return misshapen_at_once(victim_sessions(facts, [hop]), innermost(past, deployment))


def _plain(deployment: Deployment, hop: Hop, shape: Shape, seed: int) -> ProbeSession:
    """The victim's session with the victim's own silence between rounds."""
    session = victim_session(deployment, hop, shape, seed)
    return replace(session, think_s=deployment.victim.think_s)


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
    plain = _plain(deployment, hop, shape, seed)
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
