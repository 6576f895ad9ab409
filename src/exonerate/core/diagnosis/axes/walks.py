"""Walks: one session that goes through several values, to find on what a fault depends, and where.

Theory of operation
-------------------
A convicted fault may depend on the number of the request, on the age of its connection, on the
silence before it or on the size of its body. In the victim's own session these grow together.

1. While several of them part good from bad, a walk keeps all but one small: many small requests
   one after the other (only the number grows), then growing ones (the size), then small ones on an
   ageing connection.
2. A walk divides the interval that is left into `PARTS`, from the small end, and stops at the
   first failure: each walk costs one failure and narrows the interval by that factor.

A walk is one session, one request at a time. What is observed of suspects leaves it out; a walk
over the number or the size has a second session beside it, past the hop, and where that one goes
well the walk has repeated the fault as well as a copy of the victim would have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import beyond, probeable
from exonerate.core.diagnosis.axes.body import small_body_bytes
from exonerate.core.diagnosis.axes.points import Bracket, brackets, points_of
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.inquiries import (
    Shape,
    victim_session,
    watch_of,
)
from exonerate.core.diagnosis.stalls import (
    STALL_S_MIN,
    Patience,
    patience_of,
    stalls_in_a_walk,
)
from exonerate.core.diagnosis.walk_sessions import (
    COMPARED,
    PAUSE_S,
    WALK_TOKENS,
    beside_name,
    walk_name,
)
from exonerate.core.scene import ProbeSession, Scene

PARTS = 10
WALKS_MAX = 4
RESOLUTION_BYTES, RESOLUTION_SHARE = 32, 0.01
RESOLUTION_S = 0.2
ROUNDS_MAX = 40
SMALLEST_BODY_BYTES = 320
LINGER_S = 1.0


@dataclass(frozen=True, slots=True)
class Walk:
    """What grows, round by round: sizes of the bodies, or pauses before the rounds."""

    what: str
    rounds: int
    body_bytes: tuple[int, ...]
    pauses_s: tuple[float, ...] = ()


def next_walk(
    facts: Facts,
    deployment: Deployment,
    hop: Hop,
    *,
    size_first: bool = False,
    again: bool = False,
) -> Walk | None:
    """The walk that tells most about what the fault at the hop depends on; None when it is known.

    None as well where nothing that can be walked parts good from bad. `size_first`: of such a
    fault the size is the first thing to believe. `again`: walk over the number though it is known.
    """
    if sum(scene.id.startswith("walk-") for scene in facts.scenes) >= WALKS_MAX:
        return None
    small = small_body_bytes(facts, hop.name)
    left = brackets(points_of(facts, hop.name))
    if not left or small is None:
        return None
    known = len(left) == 1 and all(map(_fine, left.values()))
    if known or (set(left) == {"number"} and not again):
        return None
    # A second walk over the number would fail at the same one.
    name = walk_name("number", hop.name)
    walked = any(s.plan.name == name and s.failed is not None for s in facts.sessions)
    numbered = again or not walked
    if "number" in left and numbered and not (size_first and "size" in left):
        rounds = int(left["number"].smallest_bad)
        return Walk("number", rounds, (small,)) if rounds <= ROUNDS_MAX else None
    if "size" in left:
        return _sizes(left["size"])
    if "age" in left:
        return _ages(left, small, deployment)
    return _idles(left["idle"], small) if "idle" in left else None


def walk_scene(
    facts: Facts, deployment: Deployment, hop: Hop, walk: Walk, *, seed: int, gentle: bool
) -> Scene:
    """One session at the hop that takes this walk."""
    shape = Shape(
        number=len(facts.scenes) + 1,
        rounds=walk.rounds,
        patience=_patience(facts, deployment),
        fresh_session_at=None,
        fresh_rounds=0,
        gentle=gentle,
    )
    session = _session(deployment, hop, shape, walk, seed)
    rows = _control(deployment, hop, shape, walk, seed)
    pauses_s = sum(session.pause_before_s(number) for number in range(1, walk.rounds + 1))
    return Scene(
        id=f"walk-{walk.what}-{shape.number}",
        why=f"send {walk.rounds} requests of growing {walk.what} at {hop.name}",
        activities=(*(watch_of(one) for one in deployment.hops), session, *rows),
        triggers=stalls_in_a_walk(session, rows, shape.patience.give_up_ratio),
        time_limit_s=pauses_s + walk.rounds * deployment.victim.deadline_s + 10.0,
    )


def _patience(facts: Facts, deployment: Deployment) -> Patience:
    """Small requests are answered soon: how long the victim's own take does not matter."""
    usual = patience_of(facts, deployment)
    return replace(usual, stall_s=STALL_S_MIN)


def walk_cost_s(facts: Facts, walk: Walk, hop: Hop) -> float:
    """How long the walk is likely to take: its pauses, its answers, and one failure."""
    rounds = [
        (round_.total_s, round_ is session.failed)
        for session in facts.sessions
        if session.hop == hop.name and session.victim_shaped
        for round_ in session.rounds
    ]
    # Small requests with short answers take no longer than the quickest so far.
    good_s = min((seconds for seconds, bad in rounds if not bad), default=0.0)
    bad_s = max((seconds for seconds, bad in rounds if bad), default=0.0)
    planned = walk.pauses_s or (PAUSE_S,)
    pauses = [*planned, *([planned[-1]] * walk.rounds)]
    return LINGER_S + sum(pauses[: walk.rounds - 1]) + walk.rounds * good_s + bad_s


def _sizes(bracket: Bracket) -> Walk:
    """Sizes between the largest good and the smallest bad one, which is sent again.

    Hardly with a pause, so that a failure is none of the connection's age.
    """
    sizes = [round(size) for size in _steps(bracket, floor=SMALLEST_BODY_BYTES)]
    if bracket.largest_ok is None:
        # Where the smallest that can be sent is bad as well, the size is not what matters.
        sizes.insert(0, SMALLEST_BODY_BYTES)
    return Walk("size", len(sizes), tuple(sizes))


def _ages(left: Mapping[str, Bracket], small: int, deployment: Deployment) -> Walk | None:
    """Small requests while the connection grows old, up to its age at the earliest failure.

    While the silence before a request is suspected as well, each is kept short.
    """
    pause_s = max(0.05, deployment.victim.think_s)
    pauses: tuple[float, ...]
    if "idle" in left:
        rounds = math.ceil(left["age"].smallest_bad / (left["idle"].smallest_bad / 2)) + 2
        pauses = (left["idle"].smallest_bad / 2,)
    else:
        ages = list(_steps(left["age"], floor=pause_s))
        rounds = len(ages) + 1
        pauses = tuple(later - earlier for earlier, later in pairwise([0.0, *ages]))
    return Walk("age", rounds, (small,), pauses) if rounds <= ROUNDS_MAX else None


def _idles(bracket: Bracket, small: int) -> Walk:
    pauses = tuple(_steps(bracket, floor=0.0))
    return Walk("idle", len(pauses) + 1, (small,), pauses)


def _fine(bracket: Bracket) -> bool:
    """Whether the threshold is known well enough."""
    if bracket.largest_ok is None:
        return False
    width = bracket.smallest_bad - bracket.largest_ok
    if bracket.quantity == "size":
        return width <= max(RESOLUTION_BYTES, RESOLUTION_SHARE * bracket.smallest_bad)
    return width <= RESOLUTION_S


def _steps(bracket: Bracket, *, floor: float) -> Iterator[float]:
    """From above the largest good value to the smallest bad one, which is sent again."""
    low = bracket.largest_ok if bracket.largest_ok is not None else floor
    for part in range(1, PARTS + 1):
        yield low + (bracket.smallest_bad - low) * part / PARTS


def _control(
    deployment: Deployment, hop: Hop, shape: Shape, walk: Walk, seed: int
) -> list[ProbeSession]:
    """The same walk past the hop, where the walk may be one more repetition of the fault."""
    past = [other for other in beyond(deployment, hop.name) if probeable(other)]
    if walk.what not in COMPARED or not past:
        return []
    session = _session(deployment, past[0], shape, walk, seed)
    name = walk_name(walk.what, hop.name)
    return [
        replace(
            session,
            name=beside_name(past[0].name, hop.name),
            no_longer_than=(name,),
            behind=name,
        )
    ]


def _session(deployment: Deployment, hop: Hop, shape: Shape, walk: Walk, seed: int) -> ProbeSession:
    """The victim's session with a short prompt, filled up with spaces."""
    plain = victim_session(deployment, hop, shape, seed)
    request = plain.request
    prompt = replace(
        request.prompt,
        prompt_tokens=max(1, min(request.prompt.prompt_tokens, walk.body_bytes[0] // 32)),
        growth_tokens=0,
        salt=f"{request.prompt.salt}-walk",
    )
    tokens = min(request.max_tokens, WALK_TOKENS)
    return replace(
        plain,
        name=walk_name(walk.what, hop.name),
        request=replace(
            request, prompt=prompt, body_ref=None, max_tokens=tokens, body_bytes=walk.body_bytes
        ),
        connection="reuse",
        think_s=PAUSE_S,
        pauses_s=walk.pauses_s,
    )
