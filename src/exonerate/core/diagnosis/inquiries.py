"""The scenes that the localiser can ask for: the victim copied at every hop, and side probes.

Every scene holds the victim's own shape of session at each hop that takes plain requests, played
at the same time so that load and luck are shared. While one of them waits, the triggers look at
everything else: engine counters, a new connection at the same hop, a new connection past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, hop_port, is_engine, probeable
from exonerate.core.diagnosis.facts import Facts
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
from exonerate.core.diagnosis.stalls import Patience, patience_of, stall_beside, stalls_of
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
CONTENT_ROUNDS, CONTENT_ROUNDS_BRIEF = 3, 2
ABORT_TOKENS = 600
ABORT_ROUNDS, ABORT_ROUNDS_AT_ENGINE = 4, 2
ABORT_AFTER_S, ABORT_PAUSE_S = 1.0, 1.7
ABORT_TURN_S = ABORT_AFTER_S + ABORT_PAUSE_S
ABORT_S = (ABORT_ROUNDS + ABORT_ROUNDS_AT_ENGINE + 1) * ABORT_TURN_S
ABORT_BRIEF_S = ABORT_ROUNDS * ABORT_TURN_S + 1.0
"""An abort probe streams for `ABORT_AFTER_S` and is silent until it comes again; hop after hop."""


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
    return tuple(found)


def abort_scene(deployment: Deployment, number: int, seed: int, *, brief: bool = False) -> Scene:
    """Leave a long stream in the middle, at the engine and then at the entry of the whole path.

    What every box on the way does with it shows in byte counters; the engine's counters are read.
    `brief`: at the entry alone, which is all that the boxes need.
    """
    takers = [hop for hop in deployment.hops if probeable(hop)]
    hops = [takers[-1], takers[0]] if len(takers) > 1 and not brief else takers[:1]
    counters: list[Activity] = [
        SampleMetrics(
            name=f"counters@{hop.name}/abort",
            hop=hop.name,
            url=hop.metrics,
            count=COUNTER_SAMPLES_MAX,
            every_s=COUNTER_PERIOD_S,
            background=True,
        )
        for hop in deployment.hops
        if hop.metrics is not None
    ]
    turns: list[ProbeSession] = []
    for hop in hops:
        turns.append(_abort(deployment, hop, number, seed, after=turns))
    # The last look needs time after the last abort.
    tail = _abort(deployment, hops[-1], number, seed, after=turns)
    tail = replace(tail, name="abort-tail", rounds=1, deadline_s=0.1)
    return Scene(
        id=f"abort-{number}",
        why="leave a long answer in the middle, at the engine and at the entry, and see who stops",
        activities=(*counters, *(watch_of(hop) for hop in deployment.hops), *turns, tail),
        time_limit_s=(len(hops) + 1) * ABORT_ROUNDS * ABORT_TURN_S + 10.0,
    )


def content_scene(deployment: Deployment, number: int, seed: int, *, brief: bool = False) -> Scene:
    """The same questions at every hop, and twice at the innermost, to compare what they say.

    `brief`: fewer of them, where nothing but care asks for it.
    """
    rounds = CONTENT_ROUNDS_BRIEF if brief else CONTENT_ROUNDS
    hops = [hop for hop in deployment.hops if probeable(hop)]
    # The first to ask fills the prefix cache, and a cached prefix rounds in its own way.
    asked = [(f"warm@{hops[-1].name}", hops[-1])]
    asked.extend((f"content@{hop.name}", hop) for hop in hops)
    asked.append((f"content-again@{hops[-1].name}", hops[-1]))
    request = _request(deployment, seed, f"{number}-content")
    sessions = [
        ProbeSession(
            name=name,
            hop=hop.name,
            url=hop.url,
            request=request,
            rounds=rounds,
            connection=deployment.victim.connection,
            think_s=0.0,
            deadline_s=deployment.victim.deadline_s,
            start_s=WATCH_FIRST_S,
            # One after the other: the load that we are ourselves must not change the texts.
            once_over=tuple(earlier for earlier, _ in asked[:place]),
        )
        for place, (name, hop) in enumerate(asked)
    ]
    return Scene(
        id=f"content-{number}",
        why="ask the same questions at every hop, and compare the texts",
        activities=(
            *(watch_of(hop) for hop in deployment.hops),
            *watches(deployment, gentle=True),
            *sessions,
        ),
        time_limit_s=len(asked) * rounds * deployment.victim.deadline_s + 10.0,
    )


def _abort(
    deployment: Deployment, hop: Hop, number: int, seed: int, *, after: Sequence[ProbeSession]
) -> ProbeSession:
    request = _request(deployment, seed, f"{number}-abort-{hop.name}", growing=False)
    return ProbeSession(
        name=f"abort@{hop.name}",
        hop=hop.name,
        url=hop.url,
        request=replace(request, max_tokens=ABORT_TOKENS, stream=True),
        rounds=ABORT_ROUNDS_AT_ENGINE if is_engine(hop) else ABORT_ROUNDS,
        connection="fresh",
        think_s=ABORT_PAUSE_S,
        deadline_s=ABORT_AFTER_S,
        stop_after_failure=False,
        start_s=ABORT_PAUSE_S if after else WATCH_FIRST_S,
        once_over=tuple(session.name for session in after),
    )


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
        request=_request(deployment, seed, f"{shape.number}-victim-{hop.name}"),
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
        name=f"fresh@{hop.name}",
        hop=hop.name,
        url=hop.url,
        request=_request(deployment, seed, f"{shape.number}-fresh-{hop.name}", growing=False),
        rounds=shape.fresh_rounds,
        connection="fresh",
        think_s=0.0,
        in_turn=True,
        deadline_s=deployment.victim.deadline_s,
        start_s=0.0 if shape.stagger_s is None else shape.start_s + shape.stagger_s,
        no_longer_than=() if shape.stagger_s is None else (f"victim@{hop.name}",),
    )
    return (session,)


def _request(
    deployment: Deployment, seed: int, salt: str, *, growing: bool = True
) -> RequestRecipe:
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
