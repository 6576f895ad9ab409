"""Every kind of scene that `locate` may send, and the most that each can send.

Bounds, and no forecasts: a run that convicts soon sends a small part of this. They hold for any
answer that the hops can give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.deployment.model import Deployment
from exonerate.core.deployment.topology import is_engine, probeable
from exonerate.core.diagnosis import beats
from exonerate.core.diagnosis.axes.load import LOAD
from exonerate.core.diagnosis.axes.registry import AXES
from exonerate.core.diagnosis.axes.scenes import TRIES
from exonerate.core.diagnosis.axes.walks import ROUNDS_MAX, WALKS_MAX
from exonerate.core.diagnosis.lanes import BESIDE_MAX
from exonerate.core.diagnosis.proving import ALONE_TOKENS
from exonerate.core.diagnosis.special_scenes import (
    ABORT_ROUNDS,
    ABORT_ROUNDS_AT_ENGINE,
    ABORT_TOKENS,
    CONTENT_ROUNDS,
)
from exonerate.core.diagnosis.walk_sessions import TIMES_IN_A_WAIT, WALK_TOKENS
from exonerate.core.diagnosis.walks import STEPS_MAX

SIDE_PROBES = 1
"""Beside those at the hop and past it, a small request where nobody past it takes one."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """The most that scenes of one kind can send."""

    kind: str
    begins: tuple[str, ...]
    """How the names of such scenes begin."""
    when: str
    scenes_max: int
    requests_max: int
    """In one scene, side probes included."""
    in_flight_max: int
    output_tokens_max: int
    left_out: str = ""
    """What `--gentle` leaves out of it; `all` where no such scene is sent."""


def traffic(deployment: Deployment, *, copies_max: int, gentle: bool = False) -> list[Traffic]:
    """Every kind; `copies_max` scenes copy the victim or compare texts."""
    kinds = [
        _victim(deployment, copies_max, gentle=gentle),
        _content(deployment, copies_max),
        _abort(deployment),
        _alone(deployment),
        _axes(deployment, gentle=gentle),
        *([_crowd(deployment, gentle=gentle)] if deployment.victim.concurrency > 1 else []),
        _beats(deployment),
        _walks(deployment),
        _edge(deployment),
    ]
    return [kind for kind in kinds if not (gentle and kind.left_out == "all")]


def requests_max(kinds: Sequence[Traffic]) -> int:
    """The most of a whole run: victim and content scenes share their number."""
    shared = [kind for kind in kinds if kind.kind in ("victim", "content")]
    rest = [kind for kind in kinds if kind not in shared]
    copies = max(kind.scenes_max for kind in shared) * max(kind.requests_max for kind in shared)
    return copies + sum(kind.scenes_max * kind.requests_max for kind in rest)


def left_out(deployment: Deployment) -> list[str]:
    """What `--gentle` leaves out, in words."""
    whole = [kind for kind in traffic(deployment, copies_max=1) if kind.left_out]
    return [
        f"{kind.kind}: {'no such scene' if kind.left_out == 'all' else kind.left_out}"
        for kind in whole
    ]


def _victim(deployment: Deployment, copies_max: int, *, gentle: bool) -> Traffic:
    victim = deployment.victim
    entries = _entries(deployment)
    # One round more than the victim has, to see that a failure ends it; and as many again fresh,
    # at one hop, or while something waits at each but the last.
    copied = entries * victim.concurrency * (victim.rounds + 1)
    fresh = (2 * victim.rounds + 1) * (1 if gentle else max(1, entries - 1))
    walked = 0 if gentle else 2 * TIMES_IN_A_WAIT * (victim.rounds + 1) * (entries - 1)
    side = entries * _side(deployment, gentle=gentle)
    return Traffic(
        kind="victim",
        begins=("victim-",),
        when="first, and again until somebody is convicted or cleared",
        scenes_max=copies_max,
        requests_max=copied + fresh + walked + side,
        in_flight_max=entries * (victim.concurrency + BESIDE_MAX),
        output_tokens_max=victim.max_tokens,
        left_out="while a round waits, requests past its hop; counters are read once a second",
    )


def _content(deployment: Deployment, copies_max: int) -> Traffic:
    return Traffic(
        kind="content",
        begins=("content-",),
        when="where everything was answered, to compare what was said",
        scenes_max=copies_max,
        requests_max=CONTENT_ROUNDS * (_entries(deployment) + 2),
        in_flight_max=1,
        output_tokens_max=deployment.victim.max_tokens,
    )


def _abort(deployment: Deployment) -> Traffic:
    rounds = ABORT_ROUNDS + (max(ABORT_ROUNDS, ABORT_ROUNDS_AT_ENGINE) + 1)
    return Traffic(
        kind="abort",
        begins=("abort-",),
        when="before an engine that is full or stands still is excused or accused; each is left "
        "after a second",
        scenes_max=1,
        requests_max=rounds,
        in_flight_max=1,
        output_tokens_max=ABORT_TOKENS,
    )


def _alone(deployment: Deployment) -> Traffic:
    return Traffic(
        kind="alone",
        begins=("alone-",),
        when="before an engine is called stuck: a few words, with nothing else under way",
        scenes_max=max(1, sum(is_engine(hop) for hop in deployment.hops)),
        requests_max=1,
        in_flight_max=1,
        output_tokens_max=ALONE_TOKENS,
    )


def _axes(deployment: Deployment, *, gentle: bool) -> Traffic:
    victim = deployment.victim
    sessions = 2 * TRIES
    side = _side(deployment, gentle=gentle)
    return Traffic(
        kind="axis",
        begins=tuple(f"axis-{axis.slug}-" for axis in AXES if axis is not LOAD),
        when="where suspects differ in what one change of the session would do; each axis once",
        scenes_max=len(AXES) - 1,
        requests_max=sessions * (victim.rounds * victim.concurrency + side),
        in_flight_max=victim.concurrency + _places(deployment, gentle=gentle) * BESIDE_MAX,
        output_tokens_max=victim.max_tokens,
        left_out="while a round waits, requests past its hop",
    )


def _crowd(deployment: Deployment, *, gentle: bool) -> Traffic:
    victim = deployment.victim
    side = _side(deployment, gentle=gentle)
    together = victim.concurrency + 1
    return Traffic(
        kind="crowd",
        begins=(f"axis-{LOAD.slug}-",),
        when="where the text, or the load, is doubted and the victim is one of several: the same "
        "questions alone and in its crowd",
        scenes_max=1,
        requests_max=TRIES * (victim.rounds * together + 2 * side),
        in_flight_max=victim.concurrency + _places(deployment, gentle=gentle) * BESIDE_MAX,
        output_tokens_max=victim.max_tokens,
        left_out="all",
    )


def _beats(deployment: Deployment) -> Traffic:
    return Traffic(
        kind="beats",
        begins=("beats-",),
        when="where a box seems to end answers by a clock: several are kept under way for a while",
        scenes_max=beats.SCENES_MAX,
        requests_max=2 * beats.ANSWERS_MAX,
        in_flight_max=2 * (1 + BESIDE_MAX),
        output_tokens_max=deployment.victim.max_tokens,
        left_out="all",
    )


def _walks(deployment: Deployment) -> Traffic:
    return Traffic(
        kind="walk",
        begins=("walk-",),
        when="to repeat a fault, or once it is convicted, to find the value from which on it fails",
        scenes_max=WALKS_MAX,
        requests_max=2 * ROUNDS_MAX,
        in_flight_max=2,
        output_tokens_max=min(WALK_TOKENS, deployment.victim.max_tokens),
    )


def _edge(deployment: Deployment) -> Traffic:
    crowd = deployment.victim.concurrency
    between = range(max(1, crowd - STEPS_MAX), max(2, crowd))
    return Traffic(
        kind="edge",
        begins=("step-",),
        when="once an engine's text is known to go wrong in a crowd, or beyond a prompt length",
        scenes_max=1,
        requests_max=max(STEPS_MAX, sum(between)),
        in_flight_max=max(between),
        output_tokens_max=deployment.victim.max_tokens,
        left_out="all",
    )


def _entries(deployment: Deployment) -> int:
    return sum(probeable(hop) for hop in deployment.hops)


def _places(deployment: Deployment, *, gentle: bool) -> int:
    """At how many hops something is asked while a round of one session waits."""
    return 1 if gentle else _entries(deployment)


def _side(deployment: Deployment, *, gentle: bool) -> int:
    """The most that is asked once while a round of one session waits."""
    return _places(deployment, gentle=gentle) + SIDE_PROBES
