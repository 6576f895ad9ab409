"""After a conviction, while there is budget: on what the fault depends, and where it begins.

This is for the details; only where a class is confirmed by one more change (`CONFIRMED_BY`), and
the change does not do what the class predicts, the verdict is taken back. The victim's own text
comes first where there is one (`content`), then walks over number, size, age and silence, then the
other ways in which a request can differ. Nothing is asked that does not fit into what is left of
the budget.
"""

from __future__ import annotations

from collections.abc import Mapping

from exonerate.core.deployment.model import Hop
from exonerate.core.deployment.topology import hop_named, probeable
from exonerate.core.diagnosis.axes.points import brackets, points_of
from exonerate.core.diagnosis.axes.registry import axis_of
from exonerate.core.diagnosis.axes.scenes import Inquiry, applicable, axis_scene, cost_s
from exonerate.core.diagnosis.axes.walks import next_walk, walk_cost_s, walk_scene
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.suspect import Observation
from exonerate.core.scene import Scene

LIKELY: Mapping[str, str] = {"drops-requests": "number", "request-refused": "size"}
"""Classes whose fault depends on something of the request or of its connection, and on what most
likely."""
REFINED = tuple(LIKELY)
CONFIRMED_BY: Mapping[str, str] = {"total-timer": "length-flip"}
"""Classes that one more change of the session confirms or contradicts, where there is budget."""
OTHERWISE = ("framing-flip", "stream-flip", "encoding-flip")
"""What is tried where no quantity explains the fault."""
CAUSES: Mapping[str, str] = {
    "content-flip": "the content of the request",
    "framing-flip": "the framing of the request's body",
    "stream-flip": "whether a stream is asked for",
    "encoding-flip": "whether the answer may be compressed",
}
"""What a fault depends on where one change makes it go, however large or late the request."""


def next_refinement(
    judgement: Judgement, left_s: float, *, seed: int, gentle: bool
) -> Scene | None:
    """The next scene for the details of a convicted fault; None when they are known, or cost more.

    `left_s` is what is left of the budget.
    """
    suspect = judgement.top.suspect
    hop = hop_named(judgement.deployment, suspect.hop)
    confirming = CONFIRMED_BY.get(suspect.suspect_class.slug)
    if confirming is not None:
        return _varied(judgement, hop, confirming, left_s, seed=seed, gentle=gentle)
    if suspect.suspect_class.slug not in REFINED or not probeable(hop):
        return None
    content = _varied(judgement, hop, "content-flip", left_s, seed=seed, gentle=gentle)
    if content is not None:
        return content
    if depends_on_content(judgement):
        return None
    facts, deployment = judgement.facts, judgement.deployment
    size_first = LIKELY[suspect.suspect_class.slug] == "size"
    walk = next_walk(facts, deployment, hop, size_first=size_first)
    if walk is not None:
        fits = walk_cost_s(facts, walk, hop) <= left_s
        return walk_scene(facts, deployment, hop, walk, seed=seed, gentle=gentle) if fits else None
    return _otherwise(judgement, hop, left_s, seed=seed, gentle=gentle)


def repeating_walk(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    """The walk over what the class most likely depends on, where it fits into what is left."""
    suspect = judgement.top.suspect
    hop = hop_named(judgement.deployment, suspect.hop)
    likely = LIKELY.get(suspect.suspect_class.slug)
    if likely is None or not probeable(hop):
        return None
    facts, deployment = judgement.facts, judgement.deployment
    walk = next_walk(facts, deployment, hop, size_first=likely == "size", again=True)
    if walk is None or walk.what != likely or walk_cost_s(facts, walk, hop) > left_s:
        return None
    return walk_scene(facts, deployment, hop, walk, seed=seed, gentle=gentle)


def depends_on_content(judgement: Judgement) -> bool:
    """Whether plain words of the same size go well."""
    seen = judgement.observed("content-flip")
    return seen is not None and seen.value == "flips"


def _otherwise(
    judgement: Judgement, hop: Hop, left_s: float, *, seed: int, gentle: bool
) -> Scene | None:
    """No quantity parts good from bad: is it the framing, the stream, the compression?

    Not where a request of the same kind has passed: then it is none of these.
    """
    own = [s for s in judgement.facts.sessions if s.victim_shaped and s.hop == hop.name]
    always = all(session.failed is session.rounds[0] for session in own if session.rounds)
    found = [o for name in OTHERWISE if (o := judgement.observed(name)) is not None]
    if not always or brackets(points_of(judgement.facts, hop.name)) or _flipped(found):
        return None
    for name in OTHERWISE:
        scene = _varied(judgement, hop, name, left_s, seed=seed, gentle=gentle)
        if scene is not None:
            return scene
    return None


def _flipped(found: list[Observation]) -> bool:
    return any(observation.value == "flips" for observation in found)


def _varied(
    judgement: Judgement, hop: Hop, name: str, left_s: float, *, seed: int, gentle: bool
) -> Scene | None:
    """The scene that varies an axis, where it can be, was not yet and is affordable."""
    axis = axis_of(name)
    assert axis is not None
    facts, deployment = judgement.facts, judgement.deployment
    asked = any(scene.id.startswith(f"axis-{axis.slug}-") for scene in facts.scenes)
    inquiry = Inquiry(axis, hop)
    if (
        asked
        or not applicable(deployment, facts, inquiry)
        or cost_s(facts, deployment, inquiry) > left_s
    ):
        return None
    return axis_scene(deployment, facts, inquiry, seed, gentle=gentle)
