"""Scenes that copy nobody: answers left in the middle, the same questions everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import is_engine, probeable
from exonerate.core.diagnosis.inquiries import (
    COUNTER_PERIOD_S,
    COUNTER_SAMPLES_MAX,
    WATCH_FIRST_S,
    victim_request,
    watch_of,
)
from exonerate.core.diagnosis.surroundings import watches
from exonerate.core.scene import Activity, ProbeSession, SampleMetrics, Scene

CONTENT_ROUNDS, CONTENT_ROUNDS_BRIEF = 3, 2
ABORT_TOKENS = 600
ABORT_ROUNDS, ABORT_ROUNDS_AT_ENGINE = 4, 2
ABORT_AFTER_S, ABORT_PAUSE_S = 1.0, 1.7
ABORT_TURN_S = ABORT_AFTER_S + ABORT_PAUSE_S
ABORT_S = (ABORT_ROUNDS + ABORT_ROUNDS_AT_ENGINE + 1) * ABORT_TURN_S
ABORT_BRIEF_S = ABORT_ROUNDS * ABORT_TURN_S + 1.0
"""An abort probe streams for `ABORT_AFTER_S` and is silent until it comes again; hop after hop."""


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
    request = victim_request(deployment, seed, f"{number}-content")
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
    request = victim_request(deployment, seed, f"{number}-abort-{hop.name}", growing=False)
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
