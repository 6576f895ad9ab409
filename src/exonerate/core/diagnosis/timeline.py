"""The decisive exchanges as lanes in time, for the plot of the report.

A lane for each probe session shows the face towards the client. Below them lie, for the scenes in
which the victim's shape failed, the bytes that went on between two hops and the counters of the
engines: what the other face did meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from exonerate.core.deployment.model import Deployment
from exonerate.core.diagnosis.axes.axis import flip_name
from exonerate.core.diagnosis.byte_counts import carried_bytes
from exonerate.core.diagnosis.facts import Facts, Outcome, Session
from exonerate.core.diagnosis.meanwhile import PROGRESS_COUNTERS
from exonerate.core.instant import seconds_between
from exonerate.core.json_types import Json, JsonObject

BARS_MAX = 400
SCENES_SHOWN_MAX, FACE_BARS_MAX = 3, 60
STATES: Mapping[Outcome, str] = {
    "ok": "ok", "slow": "late", "hang": "hung", "cut": "truncated", "lost-ending": "truncated",
    "refused": "refused", "server-error": "error", "no-answer": "reset", "no-connect": "refused",
    "corrupt": "error", "unfinished": "idle",
}  # fmt: skip
"""How the report paints each outcome."""


def timeline(facts: Facts, deployment: Deployment) -> list[JsonObject]:
    """One bar a round: `{lane, label, begin_s, end_s, state}`, seconds since the run began."""
    bars = [bar for session in facts.sessions for bar in _bars(session, facts.began_ns)]
    return [*bars[:BARS_MAX], *_faces(facts, deployment)]


def _faces(facts: Facts, deployment: Deployment) -> Iterator[JsonObject]:
    """What lay behind the entry while the victim's shape failed."""
    failing = [s.scene for s in facts.sessions if s.victim_shaped and s.failed is not None]
    for scene in list(dict.fromkeys(failing))[:SCENES_SHOWN_MAX]:
        for hop in deployment.hops:
            readings = facts.sockets.get((scene, hop.name), ())
            carried = [
                (s.at_ns, carried_bytes(s, hop, facts.own_ports))
                for s in readings
                if s.rows is not None
            ]
            lane = f"{', '.join(hop.behind) or 'clients'} → {hop.name}, bytes"
            if any(bytes_ for _, bytes_ in carried):
                yield from _moving(lane, "", carried, facts.began_ns)
            yield from _counters(facts, scene, hop.name)


def _counters(facts: Facts, scene: str, engine: str) -> Iterator[JsonObject]:
    """Where the progress counters of an engine moved, and where they stood still."""
    samples = [s for s in facts.counters if s.scene == scene and s.hop == engine]
    readings = [
        (s.at_ns, {name: int(s.values.get(name, 0)) for name in PROGRESS_COUNTERS})
        for s in sorted(samples, key=lambda sample: sample.at_ns)
        if s.values is not None
    ]
    loads = [(s.values or {}).get("running", 0.0) for s in samples]
    label = f"at most {max(loads):.0f} running" if loads else ""
    yield from _moving(f"{engine}: counters", label, readings, facts.began_ns)


def _moving(
    lane: str, label: str, readings: Sequence[tuple[int, Mapping[str, int]]], began_ns: int
) -> list[JsonObject]:
    """Stretches in which something rose between two readings, and in which nothing did."""
    bars: list[dict[str, Json]] = []
    for (earlier_ns, was), (later_ns, now) in pairwise(readings):
        rose = any(count > was.get(key, 0) for key, count in now.items())
        state = "moving" if rose else "idle"
        end_s = round(seconds_between(began_ns, later_ns), 3)
        if bars and bars[-1]["state"] == state:
            bars[-1]["end_s"] = end_s
        else:
            begin_s = round(seconds_between(began_ns, earlier_ns), 3)
            bars.append(
                {"lane": lane, "label": label, "begin_s": begin_s, "end_s": end_s, "state": state}
            )
    return [*bars[:FACE_BARS_MAX]]


def _bars(session: Session, began_ns: int) -> list[JsonObject]:
    # A probe that a stall started goes over a new connection: that is what its lane is called.
    lane = session.plan.name.split("/")[0].replace("meanwhile@", "new@")
    varied = flip_name(lane)
    if varied is not None:
        lane = f"{varied[1]} {'varied' if varied[0] == 'axis' else 'unchanged'}@{session.hop}"
    return [
        {
            "lane": lane,
            "label": f"{session.scene} round {round_.exchange.round}",
            "begin_s": round(seconds_between(began_ns, round_.exchange.begun_ns), 3),
            "end_s": round(seconds_between(began_ns, round_.exchange.ended_ns), 3),
            "state": STATES[round_.outcome],
        }
        for round_ in session.rounds
    ]
