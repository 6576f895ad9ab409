"""The scenes that the localiser can ask for: the victim copied at every hop, and side probes.

Every scene holds the victim's own shape of session at each hop that takes plain requests, played
at the same time so that load and luck are shared. While one of them waits, the triggers look at
everything else: engine counters, a new connection at the same hop, a new connection past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, hop_port, probeable
from exonerate.core.diagnosis.aside import FRESH, fresh_sessions
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.lanes import lane_beside
from exonerate.core.diagnosis.observables import symptom
from exonerate.core.diagnosis.pacing import (
    fresh_rounds,
    late_inside,
    rounds_to_fail,
    stagger_s,
    start_offset_s,
    telling_think_s,
    think_factor,
)
from exonerate.core.diagnosis.stalls import (
    Patience,
    patience_of,
    stall_beside,
    stalls_of,
    with_new_ones,
)
from exonerate.core.diagnosis.streaming import innermost
from exonerate.core.diagnosis.surroundings import watches
from exonerate.core.scene import (
    Activity,
    Control,
    ProbeSession,
    PromptRecipe,
    RequestRecipe,
    SampleMetrics,
    Scene,
    Stall,
    WatchSockets,
)

COUNTER_SAMPLES_MAX = 2000
COUNTER_PERIOD_S = 0.25
GENTLE_PERIOD_S = 1.0
SOCKET_PERIOD_S = 0.1
WATCH_FIRST_S = 0.25
"""The sockets are read before the first request, so that its bytes can be told from older ones."""
SOCKET_SAMPLES_MAX = 2000
CONTROL_TRIES_MAX = 200


@dataclass(frozen=True, slots=True)
class Shape:
    """What the next scene shall look like."""

    number: int
    """1 for the first scene of the run."""
    rounds: int
    patience: Patience
    fresh_session_at: str | None
    fresh_rounds: int
    stagger_s: float | None = None
    """How much later a second stream begins beside the victim's, whose endings shall be compared;
    nothing else is asked then. None where that is not the question."""
    gentle: bool = False
    think_s: float | None = None
    """Idle time between rounds; by default it varies from scene to scene."""
    think_factor: float = 1.0
    """How long the silence between rounds is, as a share of the victim's."""
    start_s: float = WATCH_FIRST_S
    inside_first: bool = False
    """Ask the innermost hop first, so that what is broken off further out stands behind it; and
    ask nothing besides, which would stand before the next scene."""
    entry_only: bool = False
    """Whether to ask only at the entry of the whole path."""
    fresh_meanwhile: bool = False
    """Whether many new connections are tried while a round waits, where one of them was answered:
    the wait is long enough for that."""


def next_shape(
    facts: Facts,
    deployment: Deployment,
    fresh_session_at: str | None,
    *,
    gentle: bool = False,
    clocked: bool = False,
) -> Shape:
    """The victim's shape, shortened to what is known to fail, with a stall limit that fits.

    `clocked`: it seems to fail at moments of its own, at whatever request.
    """
    number = len(facts.scenes) + 1
    rounds = deployment.victim.rounds if clocked else rounds_to_fail(facts, deployment)
    tried = any(fresh_sessions(hop.name, facts) for hop in deployment.hops)
    lasting = deployment.victim.connection == "reuse" and rounds > 1
    return Shape(
        number=number,
        rounds=max(1, min(deployment.victim.rounds, rounds)),
        patience=patience_of(facts, deployment),
        fresh_session_at=fresh_session_at,
        fresh_rounds=deployment.victim.rounds if clocked else fresh_rounds(facts, deployment),
        gentle=gentle,
        think_s=telling_think_s(facts, deployment),
        think_factor=think_factor(facts, deployment),
        start_s=WATCH_FIRST_S + start_offset_s(facts, number),
        inside_first=late_inside(facts),
        stagger_s=stagger_s(facts) if clocked else None,
        entry_only=_all_went_well(facts, deployment),
        fresh_meanwhile=lasting and not (gentle or clocked or tried),
    )


def _all_went_well(facts: Facts, deployment: Deployment) -> bool:
    """Whether no session so far has shown anything: the places behind the entry are sound."""
    copies = [s for s in facts.sessions if s.victim_shaped and s.conclusive]
    reference = innermost(copies, deployment)
    return bool(copies) and all(symptom(session, reference) == "ok" for session in copies)


def victim_scene(deployment: Deployment, shape: Shape, seed: int) -> Scene:
    """The victim's session at all hops at once, or at the entry, with everything watched."""
    hops = [hop for hop in deployment.hops if probeable(hop)]
    if shape.entry_only:
        hops = hops[:1]
    # Turns are taken in this order.
    asked = reversed(hops) if shape.inside_first else hops
    sessions = [victim_session(deployment, hop, shape, seed) for hop in asked]
    watched: list[Activity] = [
        *(watch_of(hop) for hop in deployment.hops),
        *counters_of(deployment, shape),
    ]
    extra = _fresh_session(deployment, shape, seed)
    victim = deployment.victim
    rounds = max(shape.rounds, shape.fresh_rounds if extra else 0)
    return Scene(
        id=f"victim-{shape.number}",
        why=_why(shape),
        activities=(
            Control(
                name="control",
                count=CONTROL_TRIES_MAX,
                ports=tuple(dict.fromkeys(hop_port(hop) for hop in deployment.hops)),
            ),
            *watched,
            *watches(deployment, gentle=shape.gentle),
            *sessions,
            *_crowd(deployment, hops, shape, seed),
            *extra,
        ),
        triggers=_triggers(deployment, sessions, extra, shape),
        time_limit_s=rounds * (victim.think_s + victim.deadline_s) + victim.deadline_s + 10.0,
    )


def _triggers(
    deployment: Deployment,
    sessions: Sequence[ProbeSession],
    extra: Sequence[ProbeSession],
    shape: Shape,
) -> tuple[Stall, ...]:
    """Whom to ask while a round waits: nobody where that was asked, and would be in the way."""
    beside = [*sessions, *extra] if shape.stagger_s is not None else extra
    found = [stall_beside(deployment, session, shape.patience) for session in beside]
    for session in sessions if shape.stagger_s is None else ():
        own = stalls_of(deployment, session, shape.patience, gentle=shape.gentle)
        found.extend([replace(own[0], play=())] if shape.inside_first else own)
    if shape.fresh_meanwhile and not extra and not shape.inside_first:
        rounds, patience = shape.rounds, shape.patience
        told = (with_new_ones(one, deployment, rounds, patience) for one in found)
        return tuple(chain.from_iterable(told))
    return tuple(found)


def _why(shape: Shape) -> str:
    where = "at the entry" if shape.entry_only else "at every hop at once"
    text = f"send {shape.rounds} rounds as the victim does, {where}"
    if shape.fresh_session_at:
        text += f"; and {shape.fresh_rounds} through {shape.fresh_session_at} on new connections"
    return text


def victim_session(deployment: Deployment, hop: Hop, shape: Shape, seed: int) -> ProbeSession:
    """The victim's session as it is sent at one hop."""
    victim = deployment.victim
    return ProbeSession(
        name=f"victim@{hop.name}",
        hop=hop.name,
        url=hop.url,
        request=victim_request(deployment, seed, f"{shape.number}-victim-{hop.name}"),
        rounds=shape.rounds,
        connection=victim.connection,
        think_s=victim.think_s * shape.think_factor if shape.think_s is None else shape.think_s,
        deadline_s=victim.deadline_s,
        start_s=shape.start_s,
        no_longer_than=tuple(
            f"victim@{h.name}" for h in before(deployment, hop.name) if h.name != hop.name
        ),
        # Unless the victim itself has more than one request under way.
        in_turn=victim.concurrency == 1,
    )


def _crowd(deployment: Deployment, hops: list[Hop], shape: Shape, seed: int) -> list[ProbeSession]:
    """The victim's other sessions at the same time, where it has a concurrency above 1."""
    others: list[ProbeSession] = []
    for hop in hops:
        session = victim_session(deployment, hop, shape, seed)
        prompt = session.request.prompt
        for number in range(2, deployment.victim.concurrency + 1):
            # Each has a prompt of its own, as other clients have, and with it a code word.
            own = replace(prompt, salt=f"{prompt.salt}/{number}")
            others.append(
                replace(
                    session,
                    name=f"crowd@{hop.name}/{number}",
                    request=replace(session.request, prompt=own),
                )
            )
    return others


def _fresh_session(deployment: Deployment, shape: Shape, seed: int) -> tuple[ProbeSession, ...]:
    if shape.fresh_session_at is None:
        return ()
    hop = next(h for h in deployment.hops if h.name == shape.fresh_session_at)
    session = ProbeSession(
        name=f"{FRESH}{hop.name}",
        hop=hop.name,
        url=hop.url,
        request=victim_request(deployment, seed, f"{shape.number}-fresh-{hop.name}", growing=False),
        rounds=shape.fresh_rounds,
        connection="fresh",
        think_s=0.0,
        in_turn=True,
        lane=lane_beside(hop.name),
        deadline_s=deployment.victim.deadline_s,
        start_s=0.0 if shape.stagger_s is None else shape.start_s + shape.stagger_s,
        no_longer_than=() if shape.stagger_s is None else (f"victim@{hop.name}",),
    )
    return (session,)


def victim_request(
    deployment: Deployment, seed: int, salt: str, *, growing: bool = True
) -> RequestRecipe:
    """The victim's request, with a prompt of its own for each `salt`."""
    victim = deployment.victim
    return RequestRecipe(
        path=victim.endpoint,
        model=deployment.model,
        prompt=PromptRecipe(
            seed=seed,
            prompt_tokens=victim.prompt_tokens,
            growth_tokens=victim.growth_tokens if growing else 0,
            salt=f"{seed}-{salt}",
            code_word=True,
        ),
        max_tokens=victim.max_tokens,
        stream=victim.stream,
        api_key_env=victim.api_key_env,
        body_ref=victim.request,
        chunked=victim.chunked,
    )


def watch_of(hop: Hop) -> WatchSockets:
    """The sockets at one hop, read for as long as the scene lasts."""
    parts = urlsplit(hop.url)
    assert parts.hostname is not None
    return WatchSockets(
        name=f"sockets@{hop.name}",
        hop=hop.name,
        host=parts.hostname,
        port=hop_port(hop),
        count=SOCKET_SAMPLES_MAX,
        every_s=SOCKET_PERIOD_S,
        background=True,
    )


def counters_of(deployment: Deployment, shape: Shape) -> list[SampleMetrics]:
    """The counters of every engine that shows them, all through the scene."""
    return [
        SampleMetrics(
            name=f"counters@{hop.name}",
            hop=hop.name,
            url=hop.metrics,
            count=COUNTER_SAMPLES_MAX,
            every_s=GENTLE_PERIOD_S if shape.gentle else COUNTER_PERIOD_S,
            background=True,
        )
        for hop in deployment.hops
        if hop.metrics is not None
    ]
