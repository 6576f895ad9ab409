"""What a hop was asked and answered well, on every axis; and which axes nobody varied.

A probe clears only what it covers: a hop that answered small bodies without a pause is not cleared
of a fault by size or by silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from exonerate.core.diagnosis.axes.load import LOAD
from exonerate.core.diagnosis.axes.registry import AXES
from exonerate.core.diagnosis.facts import Facts, Round, Session
from exonerate.core.diagnosis.sent import most_at_once
from exonerate.core.scene import ProbeSession, Scene

LONELY = (
    "load: the victim was sent alone; where it has others beside it, say how many in `[victim]` "
    "(`concurrency`)"
)


def covered_sentence(facts: Facts, hop: str) -> str:
    """`requests 1 to 6 of a connection, idle times up to 0.4 s, ...`, of what was answered well."""
    sessions = [s for s in facts.sessions if s.hop == hop]
    good = [r for s in sessions for r in s.rounds if r.outcome in ("ok", "slow")]
    if not good:
        return ""
    connections = [round_.exchange.connection for round_ in good]
    parts = [
        f"up to {max(c.request_number for c in connections)} requests of a connection",
        f"idle times up to {_idle_s(sessions):.1f} s",
        f"connections up to {max(c.age_s for c in connections):.1f} s old",
        f"bodies up to {_size(max(map(_body_bytes, good)))}",
        f"answers up to {max(r.total_s for r in good):.1f} s long",
        _streams(sessions),
        f"{most_at_once(good)} at once",
    ]
    return ", ".join(parts)


def unvaried(facts: Facts, *, alone: bool) -> list[str]:
    """Sentences for the axes on which the session was not varied, or at one hop alone.

    `alone`: the victim has no other sessions beside it, so that none were sent.
    """
    varied = {
        axis.slug: sorted({hop for s in facts.scenes for hop in _varied_at(s, axis.slug)})
        for axis in AXES
        if not (alone and axis is LOAD)
    }
    missing = [slug for slug, hops in varied.items() if not hops]
    found = [LONELY] if alone else []
    if missing:
        found.append(f"not varied alone: {', '.join(missing)}; only the victim's own were sent")
    for hop in dict.fromkeys(hops[0] for hops in varied.values() if len(hops) == 1):
        slugs = [slug for slug, hops in varied.items() if hops == [hop]]
        found.append(f"varied at `{hop}` alone, at no other hop: {', '.join(slugs)}")
    return found


def _varied_at(scene: Scene, slug: str) -> Iterator[str]:
    """At which hops a scene varied the session on this axis."""
    if not _varies(scene.id, slug):
        return
    for activity in scene.activities:
        if isinstance(activity, ProbeSession) and activity.name.startswith(("axis-", "walk-")):
            yield activity.hop


def _varies(scene: str, slug: str) -> bool:
    walked = {"size": "walk-size-", "idle": "walk-idle-"}.get(slug)
    return scene.startswith(f"axis-{slug}-") or (walked is not None and scene.startswith(walked))


def _idle_s(sessions: Sequence[Session]) -> float:
    """The longest planned silence after which the next request went well."""
    return max(
        (
            session.plan.pause_before_s(round_.exchange.round)
            for session in sessions
            for round_ in session.rounds
            if round_.outcome in ("ok", "slow")
        ),
        default=0.0,
    )


def _body_bytes(round_: Round) -> int:
    return round_.exchange.body_sent_bytes or round_.exchange.request_bytes


def _size(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:.0f} KB"


def _streams(sessions: Iterable[Session]) -> str:
    asked = {s.plan.request.stream for s in sessions if s.failed is None}
    both = {True: "streamed", False: "not streamed"}
    return " and ".join(both[stream] for stream in sorted(asked, reverse=True)) or "streamed"
