"""Answers kept under way without a gap, at a box that seems to end them at moments of its own.

Theory of operation
-------------------
A clock convicts itself only by what is in flight when it strikes: two answers through the box that
began apart and stop together, and one past it that goes on. Copies of the victim meet that by luck.
So one is begun at the box every `EVERY_S`, unless two are under way already: nearly always there
are two, none of them begun together, and past the box one at least. The distance
between the endings so far says when the next ones are due; it goes on until enough of those have
passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from statistics import median

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import before, beyond, hop_named, probeable
from exonerate.core.diagnosis.endings import (
    APART_S,
    KEPT_UP,
    TOLERANCE_S,
    clocked_endings,
    moments,
    stopped_s,
)
from exonerate.core.diagnosis.facts import Facts, Round
from exonerate.core.diagnosis.inquiries import (
    WATCH_FIRST_S,
    Shape,
    counters_of,
    victim_session,
    watch_of,
)
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.lanes import BESIDE_MAX, lane_kept_up
from exonerate.core.diagnosis.stalls import STALL_S_MIN, patience_of, stall_beside
from exonerate.core.diagnosis.walk_sessions import LOOK_S
from exonerate.core.instant import NS_PER_S
from exonerate.core.scene import ProbeSession, Scene

EVERY_S = APART_S + 0.05
"""What began so long after another began apart from it."""
EVERY_PAST = 0.9
"""After which share of an answer the next is begun past the box: one is under way there then."""
ANSWER_S_MIN = 0.9
"""Of shorter answers two are under way for less than half of the time."""
MOMENTS_WANTED = 3
SCENES_MAX = 3
"""Where so many showed nothing, the victim is copied again."""
SPAN_S_MAX = 25.0
PERIOD_S_SURE = 9.0
"""A longer distance may well be several periods: see first what happens in one."""
DRIFT_S, DRIFT_SHARE = 0.5, 0.07
"""How much later than expected the last ending may come: a clock may wait for a request."""
LASTS_MOST = 3
"""An answer that takes so many times as long as usual is given up, so that they do not heap up."""
ANSWERS_MAX = ceil(SPAN_S_MAX / EVERY_S) + 1
"""At a hop, if each of them ended at once."""


@dataclass(frozen=True, slots=True)
class _Span:
    """When answers are begun, in seconds from the beginning of the scene."""

    lasts_s: float
    answer_s: float
    """How long one answer lasts."""


def beats_scene(judgement: Judgement, left_s: float, seed: int) -> Scene | None:
    """Keep answers under way until enough endings are due; None where that shows nothing.

    `left_s` is what is left of the budget.
    """
    facts, deployment = judgement.facts, judgement.deployment
    hop = hop_named(deployment, judgement.top.suspect.hop)
    past = [h for h in beyond(deployment, hop.name) if probeable(h)]
    played = sum(scene.id.startswith("beats-") for scene in facts.scenes)
    if not probeable(hop) or not past or deployment.victim.concurrency > 1:
        return None
    span = _span(judgement)
    if span is None or played >= SCENES_MAX or span.lasts_s + span.answer_s > left_s:
        return None
    return _scene(deployment, facts, (hop, past[0]), span, seed)


def _span(judgement: Judgement) -> _Span | None:
    """How long until enough endings are due; None where they show no distance to count in."""
    facts, deployment = judgement.facts, judgement.deployment
    hop = judgement.top.suspect.hop
    bad = clocked_endings(hop, facts, deployment)
    ended = sorted(map(stopped_s, _all_that_failed(hop, facts, deployment)))
    gaps = [later - earlier for earlier, later in pairwise(ended) if later - earlier > APART_S]
    answer_s = _answer_s(facts)
    if not gaps or not _apart(bad) or answer_s < ANSWER_S_MIN:
        return None
    gap_s, now_s = min(gaps), facts.ended_ns / NS_PER_S
    # From then on what is under way can be ended together, and has not begun together.
    ready_s = now_s + WATCH_FIRST_S + EVERY_S + APART_S
    due_s = ended[-1] + gap_s * max(1, ceil((ready_s - ended[-1]) / gap_s))
    wanted = max(1, MOMENTS_WANTED - len(moments(hop, facts, deployment)))
    if gap_s > PERIOD_S_SURE:
        wanted = 1
    drift_s = DRIFT_S + DRIFT_SHARE * gap_s * wanted
    lasts_s = due_s + (wanted - 1) * gap_s + drift_s - now_s
    return _Span(min(SPAN_S_MAX, lasts_s), answer_s)


def _all_that_failed(hop: str, facts: Facts, deployment: Deployment) -> list[Round]:
    """What failed through the hop, whatever it was sent for."""
    entries = {h.name for h in before(deployment, hop)}
    return [
        s.failed
        for s in facts.sessions
        if s.hop in entries and s.failed and not s.plan.name.startswith("abort")
    ]


def _apart(bad: Sequence[Round]) -> bool:
    """Whether they ended at different requests, or after different times: at no count, no timer."""
    numbers = {round_.exchange.connection.request_number for round_ in bad}
    lasted = [stopped_s(round_) - round_.exchange.begun_ns / NS_PER_S for round_ in bad]
    return len(numbers) > 1 or max(lasted) - min(lasted) > TOLERANCE_S


def _answer_s(facts: Facts) -> float:
    """How long a whole answer to the victim lasts; nothing where there was none."""
    sessions = (s for s in facts.sessions if s.victim_shaped)
    good = [r.total_s for s in sessions for r in s.rounds if r.outcome == "ok"]
    return median(good) if good else 0.0


def _scene(
    deployment: Deployment, facts: Facts, hops: tuple[Hop, Hop], span: _Span, seed: int
) -> Scene:
    shape = Shape(
        number=len(facts.scenes) + 1,
        rounds=1,
        patience=patience_of(facts, deployment),
        fresh_session_at=None,
        fresh_rounds=0,
    )
    sessions = [
        session
        for hop, every_s in zip(hops, (EVERY_S, EVERY_PAST * span.answer_s), strict=True)
        for session in _answers(deployment, shape, hop, seed, span=span, every_s=every_s)
    ]
    return Scene(
        id=f"beats-{shape.number}",
        why=f"keep two answers under way at {hops[0].name}, and one at "
        f"{hops[1].name}, for {span.lasts_s:.0f} s, to see which stop together",
        activities=(
            *(watch_of(hop) for hop in deployment.hops),
            *counters_of(deployment, shape),
            *sessions,
        ),
        triggers=tuple(
            # When it stopped is known from its last token, however soon it is given up.
            replace(stall_beside(deployment, s, shape.patience), after_s=STALL_S_MIN, look_s=LOOK_S)
            for s in sessions
        ),
        time_limit_s=span.lasts_s + 2 * deployment.victim.deadline_s + 10.0,
    )


def _answers(
    deployment: Deployment, shape: Shape, hop: Hop, seed: int, *, span: _Span, every_s: float
) -> Iterator[ProbeSession]:
    """One answer after the other at a hop, each a session of its own."""
    plain = victim_session(deployment, hop, shape, seed)
    # The last ones are under way for the rest of the span.
    begins_s = span.lasts_s - WATCH_FIRST_S - span.answer_s + every_s
    for number in range(max(2, ceil(begins_s / every_s) + 1)):
        name = f"{KEPT_UP}{number + 1}@{hop.name}"
        prompt = replace(plain.request.prompt, salt=f"{plain.request.prompt.salt}-{number + 1}")
        yield replace(
            plain,
            name=name,
            request=replace(plain.request, prompt=prompt),
            connection="fresh",
            think_s=0.0,
            in_turn=False,
            deadline_s=min(plain.deadline_s, round(LASTS_MOST * span.answer_s, 3)),
            start_s=round(WATCH_FIRST_S + number * every_s, 3),
            # One that is late would begin together with another.
            lane=lane_kept_up(hop.name),
            lane_width=deployment.victim.concurrency + BESIDE_MAX,
            lane_taken="leave",
            no_longer_than=(),
        )
