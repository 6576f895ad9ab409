"""What is asked of an engine before it is accused or excused, and what is enough to accuse it."""

from __future__ import annotations

from exonerate.core.deployment.topology import next_hops, probeable
from exonerate.core.diagnosis.axes.load import LOAD
from exonerate.core.diagnosis.axes.scenes import Inquiry, axis_scene
from exonerate.core.diagnosis.endings import moments
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.walks import walk_scene
from exonerate.core.scene import Scene

TIMES_MIN = 3
CROWD_TEXTS = {"kernel-corruption": "garbled", "kv-mixup": "foreign"}

QUEUE_LEAVINGS = {"cancel-not-propagated": "kept", "retry-multiplication": "passed-on"}


def crowd_scene(judgement: Judgement, seed: int, *, gentle: bool) -> Scene | None:
    """The same questions alone and in the victim's crowd, where every answer came and the text is
    doubted; None for a victim that is alone."""
    facts, deployment = judgement.facts, judgement.deployment
    if deployment.victim.concurrency == 1:
        return None
    if any(scene.id.startswith(f"axis-{LOAD.slug}-") for scene in facts.scenes) or gentle:
        return None
    if not any(scene.id.startswith("content-") for scene in facts.scenes):
        return None
    if any(session.failed is not None for session in facts.sessions):
        return None
    doubted = any(
        (o.observable, o.value) in (("complaint", "corrupted"), ("same-text", "differs"))
        for o in judgement.observations
    )
    if not doubted:
        return None
    hop = next(h for h in reversed(deployment.hops) if probeable(h))
    return axis_scene(deployment, facts, Inquiry(LOAD, hop), seed)


def edge_scene(judgement: Judgement, seed: int) -> Scene | None:
    """Where the corruption begins, once it is known whose it is."""
    slug = judgement.top.suspect.suspect_class.slug
    return walk_scene(judgement.facts, judgement.deployment, slug, seed)


def stranger_behind(judgement: Judgement) -> bool:
    """Whether what the suspected box sends on goes to somebody whom nobody named.

    Then the bypass leaves out two boxes and not one. What the box is seen to keep for itself is its
    own doing all the same; and a router that asks a stranger is what `sick-worker` says of it.
    """
    face, left = judgement.observed("upstream-face"), judgement.observed("request-left")
    ended = judgement.observed("ended-by")
    if face is None or face.value != "elsewhere":
        return False
    suspect_class = judgement.top.suspect.suspect_class
    past = (
        suspect_class.layer in ("proxy", "router") or "onward-delivered" in suspect_class.predicts
    )
    # Only a request that waits is looked at for long enough; what is refused comes and goes.
    waited = ended is not None and ended.value == "us"
    kept = waited and left is not None and left.value == "no"
    return past and not kept and "left-to" not in suspect_class.needs


def pair_proves(judgement: Judgement) -> bool:
    """The legs of a pair part while other requests pass: there is no bypass, each leg is seen."""
    if not judgement.top_is("half-pair"):
        return False
    passed = [judgement.observed(name) for name in ("fresh-meanwhile", "small-meanwhile")]
    others_pass = any(o is not None and o.value == "ok" and o.times >= TIMES_MIN for o in passed)
    return others_pass and all(
        judgement.times(name) >= TIMES_MIN for name in ("legs", "request-left")
    )


def queue_proves(judgement: Judgement) -> bool:
    """The engine is full of a box's doing, so that a bypass helps nobody; our own leaving tells.

    A box that keeps what clients leave; or one that ends it, and still has more requests waiting
    behind it than clients before it: it has sent some of them more than once.
    """
    wanted = QUEUE_LEAVINGS.get(judgement.top.suspect.suspect_class.slug)
    left, behind = judgement.observed("leaving"), judgement.observed("requests-behind")
    if wanted is None or left is None or behind is None:
        return False
    times = min(left.times, behind.times)
    return (left.value, behind.value) == (wanted, "more") and times >= TIMES_MIN


def copies_prove(judgement: Judgement) -> bool:
    """Requests of ours were seen to go on several times, and to wait behind the box together.

    The copies keep the engine from everybody, so that a bypass helps nobody. A pair of prefill and
    decode engines gets each request twice by right.
    """
    if not judgement.top_is("retry-multiplication"):
        return False
    nexts = next_hops(judgement.deployment, judgement.top.suspect.hop)
    if any(hop.role in ("prefill", "decode") for hop in nexts):
        return False
    copies, behind = judgement.observed("request-copies"), judgement.observed("requests-behind")
    if copies is None or behind is None:
        return False
    seen = (copies.value, behind.value) == ("several", "more")
    return seen and min(copies.times, behind.times) >= TIMES_MIN


def moments_prove(judgement: Judgement) -> bool:
    """Answers through the box stopped together, again and again, while others past it went on."""
    if not judgement.top_is("periodic-kill"):
        return False
    hop = judgement.top.suspect.hop
    return len(moments(hop, judgement.facts, judgement.deployment)) >= TIMES_MIN


def crowd_proves(judgement: Judgement) -> bool:
    """A crowd made the text wrong and its absence made it right, often enough."""
    wanted = CROWD_TEXTS.get(judgement.top.suspect.suspect_class.slug)
    text, flip = judgement.observed("load-text"), judgement.observed(LOAD.observable)
    if wanted is None or text is None or flip is None:
        return False
    return text.value == wanted and text.times >= TIMES_MIN and flip.value == "flips"
