"""Where corruption begins: the batch size, or the prompt length, walked between clean and corrupt.

Once it is known that a crowd, or a long prompt, makes an engine's text go wrong, the values between
the largest clean and the smallest corrupt one are tried in one scene, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from exonerate.core.deployment.model import Deployment, Hop
from exonerate.core.deployment.topology import probeable
from exonerate.core.diagnosis.axes.axis import beside, flip_name
from exonerate.core.diagnosis.axes.load import LOAD
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.inquiries import Shape, victim_session, watch_of
from exonerate.core.diagnosis.stalls import Patience
from exonerate.core.json_types import Json, JsonObject
from exonerate.core.scene import ProbeSession, Scene

STEPS_MAX = 7
WALKS = {"kernel-corruption": "batch", "long-context-corruption": "prompt_tokens"}


@dataclass(frozen=True, slots=True)
class Point:
    """One value that was tried; `asked` is what to ask for to have it again."""

    value: int
    asked: int
    corrupt: bool


def walk_scene(facts: Facts, deployment: Deployment, slug: str, seed: int) -> Scene | None:
    """The values between, at the innermost hop that can be asked; None where nothing is left."""
    kind = WALKS.get(slug)
    if kind is None or any(scene.id.startswith("step-") for scene in facts.scenes):
        return None
    clean, corrupt = _edge(_points(facts, deployment, kind))
    if clean is None or corrupt is None:
        return None
    between = _between(clean.asked, corrupt.asked)
    if not between:
        return None
    hop = next(h for h in reversed(deployment.hops) if probeable(h))
    number = len(facts.scenes) + 1
    shape = Shape(number, 1, Patience(0.0), None, 0)
    plain = replace(victim_session(deployment, hop, shape, seed), rounds=1, start_s=0.1)
    sessions: list[ProbeSession] = []
    previous: tuple[str, ...] = ()
    for value in between:
        together = [replace(s, once_over=previous) for s in _of_value(plain, kind, value, hop)]
        sessions.extend(together)
        previous = tuple(session.name for session in together)
    return Scene(
        id=f"step-{kind}-{number}",
        why=f"find where the text goes wrong, {kind} from {between[0]} to {between[-1]}",
        activities=(watch_of(hop), *sessions),
        time_limit_s=(len(between) + 1) * deployment.victim.deadline_s + 10.0,
    )


def walk_details(facts: Facts, deployment: Deployment, slug: str) -> JsonObject:
    """`{"batch": {"clean_up_to", "corrupt_from"}}`, or the same of `prompt_tokens`."""
    kind = WALKS.get(slug)
    if kind is None:
        return {}
    clean, corrupt = _edge(_points(facts, deployment, kind))
    if corrupt is None:
        return {}
    edge: dict[str, Json] = {"corrupt_from": corrupt.value}
    if clean is not None:
        edge["clean_up_to"] = clean.value
    return {kind: edge}


def _of_value(plain: ProbeSession, kind: str, value: int, hop: Hop) -> Iterator[ProbeSession]:
    name = f"step-{kind}-{value}@{hop.name}"
    length = value if kind == "prompt_tokens" else plain.request.prompt.prompt_tokens
    names = [name]
    if kind == "batch":
        names += [f"{beside(name, hop.name)}{n}" for n in range(2, value + 1)]
    for one in names:
        prompt = replace(
            plain.request.prompt, prompt_tokens=length, growth_tokens=0, salt=f"step-{one}"
        )
        yield replace(plain, name=one, request=replace(plain.request, prompt=prompt))


def _between(low: int, high: int) -> list[int]:
    gap = high - low
    steps = min(STEPS_MAX, gap - 1)
    return sorted({low + gap * step // (steps + 1) for step in range(1, steps + 1)} - {low, high})


def _edge(points: Sequence[Point]) -> tuple[Point | None, Point | None]:
    """The largest clean value below every corrupt one, and the smallest corrupt one."""
    corrupt = min((p for p in points if p.corrupt), key=lambda p: p.value, default=None)
    below = [p for p in points if not p.corrupt and (corrupt is None or p.value < corrupt.value)]
    return max(below, key=lambda p: p.value, default=None), corrupt


def _points(facts: Facts, deployment: Deployment, kind: str) -> list[Point]:
    if kind == "batch":
        return [p for s in facts.sessions if (p := _batch_point(s, facts, deployment)) is not None]
    return [
        point
        for session in facts.sessions
        if session.victim_shaped or session.plan.name.startswith("step-")
        for round_ in session.rounds
        if (point := _length_point(session, round_)) is not None
    ]


def _batch_point(session: Session, facts: Facts, deployment: Deployment) -> Point | None:
    """How many ran together by our own doing; what others ran beside them is not known."""
    name = session.plan.name
    usual = deployment.victim.concurrency
    crowd: int | None = None
    if name.startswith("step-batch-"):
        crowd = int(name.partition("@")[0].rpartition("-")[2])
    elif (flip := flip_name(name)) is not None and flip[1] == LOAD.slug:
        assert LOAD.crowd is not None
        crowd = usual if flip[0] == "control" else LOAD.crowd(deployment)
    if crowd is None or not session.conclusive:
        return None
    names = (session.plan.name, beside(session.plan.name, session.hop))
    together = [s for s in facts.sessions if s.scene == session.scene]
    corrupt = any(
        round_.outcome == "corrupt"
        for other in together
        if other.plan.name == names[0] or other.plan.name.startswith(names[1])
        for round_ in other.rounds
    )
    return Point(crowd, crowd, corrupt)


def _length_point(session: Session, round_: Round) -> Point | None:
    prompt = session.plan.request.prompt
    asked = prompt.prompt_tokens + (round_.exchange.round - 1) * prompt.growth_tokens
    if round_.outcome not in ("ok", "slow", "corrupt"):
        return None
    counted = round_.exchange.content.prompt_tokens
    return Point(asked if counted is None else counted, asked, round_.outcome == "corrupt")
