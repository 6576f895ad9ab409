"""`decide`: from the records of a run to the next scene, or to the verdict.

Theory of operation
-------------------
1. Facts are read from the records, observables from the facts, and every suspect is rated.
2. A fault is convicted only when all of these hold (rules R1 to R3):
   - its posterior among all suspects is at least `CONVICTION`, nothing contradicts it, and what
     tells it from its neighbours (`needs`) was observed;
   - every rival of at least equal prior is contradicted by an observation made twice or more, or
     has next to no posterior left; and the symptom was seen in at least two scenes or walks;
   - the symptom was seen at least `FLIPS_MIN` times through the hop, and was absent at least as
     often past it, in the same scenes: the bypass is the intervention that flips it. Or one
     change of the victim's session flips it, as often, both ways (`axes`).
3. An innocent explanation (`saturated`, `long-prefill`) needs its posterior and the symptom twice.
4. Nobody is accused after `CLEAN_SESSIONS_MIN` sessions of the victim's shape went well; the
   verdict says which rate of failure that leaves possible.
5. Where the suspects differ in what one change of the victim's session would do, that is tried.
6. Beside a convicted fault, or an explanation, another one is looked for while something fails
   that neither explains (`remaining`).
7. Otherwise the victim is copied again, varied, until the budget or the scenes run out; then the
   evidence does not suffice, and the verdict says what would decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from exonerate.core.case.records import Record
from exonerate.core.case.verdict import Verdict
from exonerate.core.deployment.codec import deployment_from_json
from exonerate.core.deployment.topology import entry_hop, is_engine, probeable
from exonerate.core.diagnosis import beats
from exonerate.core.diagnosis.answer import locate_answer
from exonerate.core.diagnosis.aside import fresh_sessions
from exonerate.core.diagnosis.axes.choice import next_inquiry
from exonerate.core.diagnosis.axes.refining import next_refinement, repeating_walk
from exonerate.core.diagnosis.axes.registry import AXES
from exonerate.core.diagnosis.axes.scenes import axis_scene
from exonerate.core.diagnosis.axes.walks import WALKS_MAX
from exonerate.core.diagnosis.catalogue.plugged import NOTHING_PLUGGED, PluggedClasses
from exonerate.core.diagnosis.conviction import (
    CONTENT_TIMES_MIN,
    CONVICTION,
    certain,
    convicted,
    scope_known,
)
from exonerate.core.diagnosis.engine_rules import (
    crowd_scene,
    edge_scene,
)
from exonerate.core.diagnosis.facts import Facts
from exonerate.core.diagnosis.flips import (
    FLIPS_MIN,
)
from exonerate.core.diagnosis.inquiries import (
    next_shape,
    victim_scene,
)
from exonerate.core.diagnosis.judgement import Judgement, judge
from exonerate.core.diagnosis.observables import victim_sessions
from exonerate.core.diagnosis.pacing import copy_lasts_s
from exonerate.core.diagnosis.proving import proving_scene
from exonerate.core.diagnosis.remaining import (
    FAULTS_MAX,
    convictions,
    promising,
    unexplained,
    without,
)
from exonerate.core.diagnosis.situations import operator_problem
from exonerate.core.diagnosis.special_scenes import (
    ABORT_BRIEF_S,
    ABORT_S,
    abort_scene,
    content_scene,
)
from exonerate.core.diagnosis.surroundings import watching_packets
from exonerate.core.diagnosis.unasked import (
    EXPLANATION_TIMES_MIN,
    abort_wanted,
    nothing_to_leave,
)
from exonerate.core.diagnosis.vocabulary import ANSWERED
from exonerate.core.diagnosis.walk_sessions import repeats_in_walks
from exonerate.core.json_types import JsonObject
from exonerate.core.scene import Scene

RULES = "locate/7"
CLEAN_SESSIONS_MIN = 3
EXPLAINED_BY = {
    "benign-nondeterminism": ("load-text",),
    "host-starved": ("control", "processor-wait", "starved-path"),
}
CONTENT_QUESTION = ("healthy", "stale-reuse", "benign-nondeterminism", "corruption")
NO_TEXT = ("hang", "slow")
"""Complaints that have nothing to do with what an answer says."""
KEPT = (
    frozenset({("through", "hang"), ("request-left", "no"), ("beyond-meanwhile", "ok")}),
    frozenset({("through", "burst"), ("answer-held", "yes")}),
)
SCENES_MAX = 12
VARIED_SCENES_MAX = len(AXES) + WALKS_MAX + beats.SCENES_MAX + 1
LINGER_S = 1.0
"""What a scene costs beside its probes: start, triggers, the end."""


def decide(records: Sequence[Record], plugged: PluggedClasses = NOTHING_PLUGGED) -> Scene | Verdict:
    """The next scene of a `locate` run, or its verdict; a function of the run's records only.

    `plugged`: classes beside the built-in ones; they are part of the rules, and of their name.
    """
    start = next(record.body for record in records if record.kind == "run_started")
    deployment = deployment_from_json(start["deployment"])  # type: ignore[arg-type]  # written so
    seed, budget_s = int(str(start["seed"])), float(str(start["budget_s"]))
    gentle = bool(dict(start["options"]).get("gentle"))  # type: ignore[arg-type]  # an object
    packets = bool(dict(start["options"]).get("packets"))  # type: ignore[arg-type]  # an object
    judgement = judge(records, deployment, plugged.classes)
    rules = plugged.rules(RULES)
    problem = operator_problem(judgement.facts, deployment)
    if problem is not None:
        answer = locate_answer(judgement, "insufficient_evidence", [])
        said: JsonObject = {"problem": problem.problem, "hint": problem.hint}
        answer = {**answer, "operator": said, "next": [problem.hint]}
        return Verdict(job="locate", rules=rules, answer=answer)
    found, asked = _course(judgement, gentle=gentle)
    left_s = budget_s - judgement.facts.elapsed_s
    scene = None
    if asked is not None:
        scene = _next_scene(asked, left_s, seed=seed, gentle=gentle)
    if scene is None and found:
        scene = _refinement(found[0], left_s, seed=seed, gentle=gentle)
    if scene is not None:
        return watching_packets(scene, deployment) if packets else scene
    outcome = "fault" if found else _outcome(judgement, gentle=gentle) or "insufficient_evidence"
    return Verdict(job="locate", rules=rules, answer=locate_answer(judgement, outcome, found))


def _course(whole: Judgement, *, gentle: bool) -> tuple[list[Judgement], Judgement | None]:
    """Who is convicted so far, and the view that has still to be asked about, if there is one."""
    is_fault = partial(_is_fault, gentle=gentle)
    found = convictions(whole, is_fault)
    if len(found) >= FAULTS_MAX:
        return found, None
    outcome = _outcome(whole, gentle=gentle)
    if not found and outcome is None:
        return [], promising(whole)
    # Beside a fault, or an explanation that is nobody's fault, there may be another one.
    rest = without(whole, found[0] if found else whole)
    if rest is None or not unexplained(rest):
        return found, None
    if not found:
        found = convictions(rest, is_fault)
        return found, None if found else promising(rest)
    return found, promising(rest)


def _is_fault(judgement: Judgement, *, gentle: bool) -> bool:
    return _outcome(judgement, gentle=gentle) == "fault"


def _next_scene(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    """What to ask next while nothing is decided; None when scenes or budget have run out."""
    facts, deployment = judgement.facts, judgement.deployment
    number = len(facts.scenes) + 1
    if abort_wanted(judgement) and left_s >= ABORT_BRIEF_S:
        brief = left_s < ABORT_S or nothing_to_leave(facts, deployment)
        return abort_scene(deployment, number, seed, brief=brief)
    if _copies(facts) >= SCENES_MAX or not _affordable(judgement, left_s):
        return None
    content = _content_wanted(judgement)
    crowd = crowd_scene(judgement, seed, gentle=gentle)
    if crowd is not None and not (content and certain(judgement)):
        return crowd
    if content:
        return content_scene(deployment, number, seed, brief=judgement.top_is("healthy"))
    return _telling_scene(judgement, left_s, seed=seed, gentle=gentle) or _copy(
        judgement, seed=seed, gentle=gentle
    )


def _telling_scene(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    """What tells more in its time than one more copy of the victim, where there is such a thing."""
    if _clocked(judgement) and not gentle:
        kept_up = beats.beats_scene(judgement, left_s, seed)
        if kept_up is not None:
            return kept_up
    inquiry = next_inquiry(judgement, left_s, gentle=gentle)
    if inquiry is not None:
        return axis_scene(judgement.deployment, judgement.facts, inquiry, seed, gentle=gentle)
    walk = _repeating_walk(judgement, left_s, seed=seed, gentle=gentle)
    return walk or _proving(judgement, left_s, seed=seed, gentle=gentle)


def _copy(judgement: Judgement, *, seed: int, gentle: bool) -> Scene:
    """The victim's session once more, as it tells most."""
    fresh_at, clocked = _fresh_session_at(judgement), _clocked(judgement)
    shape = next_shape(
        judgement.facts, judgement.deployment, fresh_at, gentle=gentle, clocked=clocked
    )
    return victim_scene(judgement.deployment, shape, seed)


def _proving(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    if not certain(judgement):
        return None
    return proving_scene(judgement, left_s, seed=seed, gentle=gentle)


def _repeating_walk(
    judgement: Judgement, left_s: float, *, seed: int, gentle: bool
) -> Scene | None:
    """A walk instead of one more copy of the victim that a conviction needs.

    It repeats a fault that depends on what it walks over, sooner than the victim's session does,
    and says so of one that does not.
    """
    through, past = judgement.observed("through"), judgement.observed("beyond")
    if through is None or past is None or not certain(judgement) or not scope_known(judgement):
        return None
    again = repeats_in_walks(judgement.facts, judgement.top.suspect.hop)
    if through.times < through.tries or past.value not in ANSWERED or again < _walks(judgement):
        return None
    # What hangs has been waited for already; what ends by itself is copied sooner.
    copied = 1 if through.value == "hang" else FLIPS_MIN - 1
    if not copied <= min(through.times, past.tries) + again < FLIPS_MIN:
        return None
    return repeating_walk(judgement, left_s - LINGER_S, seed=seed, gentle=gentle)


def _walks(judgement: Judgement) -> int:
    return sum(scene.id.startswith("walk-") for scene in judgement.facts.scenes)


def _refinement(judgement: Judgement, left_s: float, *, seed: int, gentle: bool) -> Scene | None:
    """What to ask of a fault that is convicted: the number that it depends on."""
    edge = None if gentle else edge_scene(judgement, seed)
    if edge is not None and _affordable(judgement, left_s):
        return edge
    return next_refinement(judgement, left_s - LINGER_S, seed=seed, gentle=gentle)


def _outcome(judgement: Judgement, *, gentle: bool) -> str | None:
    if not judgement.facts.sessions:
        return None
    suspect_class = judgement.top.suspect.suspect_class
    if judgement.believed < CONVICTION:
        return None
    if suspect_class.slug == "healthy":
        if judgement.top.contradicted_by:
            # Errors that the victim gets and we do not: not seen is not the same as not there.
            return None
        asked = crowd_scene(judgement, 0, gentle=gentle) is None
        clean = asked and _clean_enough(judgement) and not _content_wanted(judgement)
        return "no_fault" if clean else None
    if suspect_class.slug in EXPLAINED_BY:
        times = max(map(judgement.times, EXPLAINED_BY[suspect_class.slug]))
        return "no_fault" if times >= EXPLANATION_TIMES_MIN else None
    if not suspect_class.is_fault:
        if abort_wanted(judgement) or _kept_by_a_box(judgement) or not _late_itself(judgement):
            return None
        times = judgement.times("engine-meanwhile")
        return "no_fault" if times >= EXPLANATION_TIMES_MIN else None
    return "fault" if convicted(judgement) else None


def _kept_by_a_box(judgement: Judgement) -> bool:
    """Whether a box kept what no engine explains, however busy: requests, or parts of answers.

    Requests that hang never left it, while past it others were answered; or answers come out of it
    in one burst, whose bytes had reached it long before.
    """
    seen = [
        (o.hop, (o.observable, o.value))
        for o in judgement.observations
        if o.times >= EXPLANATION_TIMES_MIN
    ]
    return any(
        signs <= {sign for at, sign in seen if at == hop} for signs in KEPT for hop, _ in seen
    )


def _late_itself(judgement: Judgement) -> bool:
    """Whether what was asked of an engine past every box waited as well, where anything was.

    Answers that are late through a box alone are explained by no engine.
    """
    takers = [h for h in judgement.deployment.hops if is_engine(h) and probeable(h)]
    direct = victim_sessions(judgement.facts, takers)
    return not direct or any(session.waiting is not None for session in direct)


def _copies(facts: Facts) -> int:
    """How many scenes there were, but for those that varied something."""
    return sum(
        not scene.id.startswith(("axis-", "walk-", "step-", "beats-")) for scene in facts.scenes
    )


def _clean_enough(judgement: Judgement) -> bool:
    entry = entry_hop(judgement.deployment)
    return len(victim_sessions(judgement.facts, [entry])) >= CLEAN_SESSIONS_MIN


def _clocked(judgement: Judgement) -> bool:
    """Whether answers seem to be broken off in the middle, at moments of somebody's own."""
    failed = (s.failed for s in judgement.facts.sessions if s.victim_shaped)
    in_the_middle = any(r.exchange.first_token_ns is not None for r in failed if r)
    return in_the_middle and judgement.top_is("periodic-kill")


def _fresh_session_at(judgement: Judgement) -> str | None:
    """The hop to try on new connections: the suspected box, once it has failed and not before."""
    top = judgement.top.suspect
    failing = [s for s in judgement.facts.sessions if s.failed is not None]
    tried = fresh_sessions(top.hop, judgement.facts)
    if _clocked(judgement):
        # A second stream beside the victim's shows whether both stop at once.
        return top.hop
    if not failing or tried or not top.suspect_class.is_fault:
        return None
    return top.hop if top.suspect_class.predicts.get("fails-at") else None


def _content_wanted(judgement: Judgement) -> bool:
    """Everything answers: before nobody is blamed, the texts are compared."""
    facts = judgement.facts
    if any(s.id.startswith("content-") for s in facts.scenes):
        differs = judgement.times("same-text") if judgement.top_is("corruption") else 0
        return 0 < differs < CONTENT_TIMES_MIN
    if judgement.top.suspect.suspect_class.slug not in CONTENT_QUESTION:
        return False
    if any(o.observable == "complaint" and o.value in NO_TEXT for o in judgement.stated):
        # That would not say who makes the victim wait, and costs as much as copying it again.
        return False
    entry = entry_hop(judgement.deployment)
    sessions = victim_sessions(facts, [entry])
    return len(sessions) >= 1 and all(s.failed is None for s in facts.sessions)


def _affordable(judgement: Judgement, left_s: float) -> bool:
    """Whether one more copy of the victim, as long as those so far, fits what is left."""
    expected_s = copy_lasts_s(judgement.facts, judgement.deployment)
    return expected_s is None or expected_s + LINGER_S <= left_s
