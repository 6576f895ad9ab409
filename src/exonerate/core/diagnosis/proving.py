"""What a suspect that is believed must still show before it is convicted, in a scene of its own.

A box that has refused all so far may have been asked with the wrong key: what it minds shows in
what it lets through. An engine that computes nothing for a request may be reading it: a few words,
asked alone and waited for longer than the victim waits, tell it from one that is stuck.
"""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.deployment.topology import hop_named
from exonerate.core.diagnosis.axes.refining import next_refinement
from exonerate.core.diagnosis.flips import scenes_with_symptom
from exonerate.core.diagnosis.inquiries import WATCH_FIRST_S, victim_request, watch_of
from exonerate.core.diagnosis.judgement import Judgement
from exonerate.core.diagnosis.unasked import alone_name, alone_wanted, refuses_whatever
from exonerate.core.scene import ProbeSession, Scene

LINGER_S = 1.0
SCENES_MIN = 2
ALONE_TOKENS = 8
ALONE_PATIENCE, ALONE_S_MIN = 2.0, 20.0
"""How many times as long as the victim's deadline the few words are waited for, and how long at
least, where there is time: an engine may be slow for everybody."""


def proving_scene(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    """The scene that the most believable suspect still needs; None where there is none for it."""
    if scenes_with_symptom(judgement) < SCENES_MIN:
        return None
    if judgement.top_is("request-refused") and refuses_whatever(judgement):
        return next_refinement(judgement, left_s - LINGER_S, seed=seed, gentle=gentle)
    if judgement.top_is("scheduler-stuck") and alone_wanted(judgement):
        return _alone(judgement, left_s - LINGER_S, seed)
    return None


def _alone(judgement: Judgement, left_s: float, seed: int) -> Scene | None:
    """A few words at the engine, while nothing else of ours is under way."""
    deployment, number = judgement.deployment, len(judgement.facts.scenes) + 1
    least_s = deployment.victim.deadline_s
    if left_s < least_s:
        return None
    patience_s = min(max(ALONE_PATIENCE * least_s, ALONE_S_MIN), left_s)
    hop = hop_named(deployment, judgement.top.suspect.hop)
    request = victim_request(deployment, seed, f"{number}-alone-{hop.name}", growing=False)
    words = replace(request.prompt, prompt_tokens=ALONE_TOKENS)
    session = ProbeSession(
        name=alone_name(hop.name),
        hop=hop.name,
        url=hop.url,
        request=replace(request, prompt=words, max_tokens=ALONE_TOKENS, body_ref=None),
        rounds=1,
        connection="fresh",
        think_s=0.0,
        deadline_s=patience_s,
        start_s=WATCH_FIRST_S,
    )
    return Scene(
        id=f"alone-{number}",
        why=f"ask a few words of {hop.name}: is it stuck, or does it read what is long?",
        activities=(watch_of(hop), session),
        time_limit_s=patience_s + 10.0,
    )
