"""Records in, cases out.

Theory of operation
-------------------
Each kind of record has one small function that adds to a draft of its case (`_STEPS`). When all
records are in, everything that has a *state* is derived from the draft as a whole: interventions
by `core.case.reverts`, suspects by `core.case.suspects`, the order by `core.case.ranking`. States
are never stored, so a rule that gets better judges old evidence anew.

Rules
-----
1. Folding never fails on what `append` wrote: a body that lacks a part folds to the least that can
   be said (a missing n is one, a missing grade is E), because a ledger must be readable after any
   crash and by later versions.
2. A suspect without a falsifiable prediction is not admitted; the case says so in a comment.
3. Two suspects come with every case: `measurement artefact` and `none of these`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

from exonerate.core.case.model import (
    FITS,
    GRADES,
    Case,
    Comment,
    Evidence,
    EvidenceType,
    Fit,
    Grade,
    Intervention,
    InterventionOutcome,
    InterventionType,
    Rating,
    RecordedVerdict,
    Run,
    Step,
    Suspect,
    UnplayedScene,
)
from exonerate.core.case.ranking import rank
from exonerate.core.case.records import Record, RecordKind
from exonerate.core.case.reverts import judged_interventions
from exonerate.core.case.suspects import (
    judged_suspects,
    mandatory_suspects,
    unfalsifiable,
)
from exonerate.core.json_types import Json, JsonObject
from exonerate.errors import ExonerateError


def fold_cases(records: Sequence[Record], *, as_of: str | None = None) -> tuple[Case, ...]:
    """Every case of the ledger in the order they were opened.

    `as_of` (UTC, ISO 8601) lets interventions expire; without it none does by age.
    """
    drafts: dict[str, _Draft] = {}
    for record in records:
        draft = drafts.setdefault(record.case, _Draft(id=record.case, opened_at=record.at))
        step = _STEPS.get(record.kind)
        if step is not None:
            step(draft, record)
    return tuple(_finished(draft, as_of) for draft in drafts.values())


def fold_case(records: Sequence[Record], case: str, *, as_of: str | None = None) -> Case:
    """The one case of that id; raises ExonerateError when the ledger has no such case."""
    own = [record for record in records if record.case == case]
    if not own:
        raise ExonerateError(
            f"the ledger has no case `{case}`", "run `exonerate case list` to see every case"
        )
    return fold_cases(own, as_of=as_of)[0]


@dataclass(slots=True)
class _Draft:
    id: str
    opened_at: str
    title: str = ""
    symptom: str | None = None
    deployment: str | None = None
    closed_at: str | None = None
    closed_why: str | None = None
    suspects: dict[str, Suspect] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    ratings: dict[tuple[str, str, str], Rating] = field(default_factory=dict)
    interventions: dict[str, Intervention] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    scenes: dict[tuple[str | None, str], UnplayedScene] = field(default_factory=dict)
    verdicts: list[RecordedVerdict] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    fingerprints: list[tuple[int, str]] = field(default_factory=list)


def _finished(draft: _Draft, as_of: str | None) -> Case:
    case = Case(
        id=draft.id,
        title=draft.title,
        symptom=draft.symptom,
        deployment=draft.deployment,
        opened_at=draft.opened_at,
        closed_at=draft.closed_at,
        closed_why=draft.closed_why,
        suspects=(*draft.suspects.values(), *mandatory_suspects(draft.opened_at)),
        evidence=tuple(draft.evidence.values()),
        ratings=tuple(draft.ratings.values()),
        interventions=tuple(draft.interventions.values()),
        runs=tuple(draft.runs.values()),
        verdicts=tuple(draft.verdicts),
        comments=tuple(draft.comments),
        unplayed=tuple(draft.scenes.values()),
    )
    case = replace(case, interventions=judged_interventions(case, draft.fingerprints, as_of))
    case = replace(case, suspects=judged_suspects(case))
    return replace(case, ranking=rank(case.suspects, case.evidence, case.ratings))


def _opened(draft: _Draft, record: Record) -> None:
    body = record.body
    draft.opened_at = record.at
    draft.title = _text(body, "title")
    draft.symptom = _text_or_none(body, "symptom")
    draft.deployment = _text_or_none(body, "deployment")


def _closed(draft: _Draft, record: Record) -> None:
    draft.closed_at, draft.closed_why = record.at, _text(record.body, "why")


def _suspect(draft: _Draft, record: Record) -> None:
    body = record.body
    suspect = Suspect(
        id=_text(body, "id") or f"suspect-{record.seq}",
        claim=_text(body, "claim"),
        mechanism=_text(body, "mechanism"),
        predicts=_texts(body, "predicts"),
        predicted_if_false=_texts(body, "predicted_if_false"),
        added_at=record.at,
        knob=_text_or_none(body, "knob"),
        fault_class=_text_or_none(body, "class"),
        hop=_text_or_none(body, "hop"),
    )
    problem = unfalsifiable(suspect)
    if suspect.id in draft.suspects:
        problem = "another suspect has this id"
    if problem is None:
        draft.suspects[suspect.id] = suspect
    else:
        text = f"suspect `{suspect.id}` ({suspect.claim}) is not admitted: {problem}"
        draft.comments.append(Comment(text=text, by="rule", at=record.at))


def _evidence(draft: _Draft, record: Record) -> None:
    body = record.body
    sort = _text(body, "type")
    identity = _text(body, "id") or f"evidence-{record.seq}"
    sha256 = _text_or_none(body, "sha256")
    draft.evidence[identity] = Evidence(
        id=identity,
        type=cast(EvidenceType, sort if sort in get_args(EvidenceType) else "observation"),
        source=_text(body, "source"),
        recorded_at=record.at,
        grade=_grade(body),
        group=_text(body, "group") or sha256 or identity,
        statement=_text_or_none(body, "statement"),
        by=_text_or_none(body, "by"),
        sha256=sha256,
        observed_at=_text_or_none(body, "observed_at"),
        restarts=_whole_or_none(body, "restarts"),
        design=_text_or_none(body, "design"),
        fingerprint=_text_or_none(body, "fingerprint"),
        raises=_texts(body, "raises"),
        content=body,
    )
    _note_fingerprint(draft, record)


def _grade(body: JsonObject) -> Grade:
    """The grade as recorded, but never better than E for what somebody said."""
    grade = _text(body, "grade")
    if _text(body, "type") == "statement" or grade not in GRADES:
        return "E"
    return cast(Grade, grade)


def _rating(draft: _Draft, record: Record) -> None:
    body = record.body
    fit = _text(body, "fit")
    rating = Rating(
        suspect=_text(body, "suspect"),
        evidence=_text(body, "evidence"),
        fit=cast(Fit, fit if fit in FITS else "NA"),
        why=_text(body, "why"),
        by=_text(body, "by") or "human",
    )
    draft.ratings[rating.suspect, rating.evidence, rating.by] = rating


def _run(draft: _Draft, record: Record) -> None:
    if record.run is None:
        return
    body = record.body
    options = body.get("options")
    draft.runs[record.run] = Run(
        id=record.run,
        seq=record.seq,
        job=_text(body, "job"),
        rules=_text(body, "rules"),
        seed=_whole_or_none(body, "seed"),
        started_at=record.at,
        options=options if isinstance(options, Mapping) else {},
    )
    _note_fingerprint(draft, record)


def _scene_planned(draft: _Draft, record: Record) -> None:
    scene = record.body.get("scene")
    fields: JsonObject = scene if isinstance(scene, Mapping) else {}
    name = _text(fields, "id")
    draft.scenes[record.run, name] = UnplayedScene(
        run=record.run, scene=name, why=_text(fields, "why"), planned_at=record.at
    )
    _count(draft, record.run, planned=1)


def _scene_played(draft: _Draft, record: Record) -> None:
    draft.scenes.pop((record.run, _text(record.body, "scene")), None)
    _count(draft, record.run, played=1)


def _count(draft: _Draft, run: str | None, *, planned: int = 0, played: int = 0) -> None:
    known = draft.runs.get(run or "")
    if known is not None:
        draft.runs[known.id] = replace(
            known,
            scenes_planned=known.scenes_planned + planned,
            scenes_played=known.scenes_played + played,
        )


def _verdict(draft: _Draft, record: Record) -> None:
    body = record.body
    answer = body.get("answer")
    verdict = RecordedVerdict(
        id=_text(body, "id") or f"verdict-{record.seq}",
        seq=record.seq,
        run=record.run,
        job=_text(body, "job"),
        rules=_text(body, "rules"),
        at=record.at,
        answer=answer if isinstance(answer, Mapping) else {},
    )
    draft.verdicts.append(verdict)
    run = draft.runs.get(record.run or "")
    if run is not None:
        draft.runs[run.id] = replace(run, verdict=verdict.id)
        # A run that was cut off and brought to its end has nothing open any more.
        draft.scenes = {key: scene for key, scene in draft.scenes.items() if key[0] != run.id}


def _planned(draft: _Draft, record: Record) -> None:
    body = record.body
    identity = _text(body, "id") or f"intervention-{record.seq}"
    sort = _text(body, "type")
    draft.interventions[identity] = Intervention(
        id=identity,
        case=draft.id,
        type=cast(InterventionType, sort if sort in get_args(InterventionType) else "apply"),
        knob=_text_or_none(body, "knob"),
        service=_text_or_none(body, "service"),
        was=_text_or_none(body, "from"),
        to=_text_or_none(body, "to"),
        purpose=_text(body, "purpose"),
        prediction=_text(body, "prediction"),
        confounds=_texts(body, "confounds"),
        planned_at=record.at,
        planned_seq=record.seq,
        suspect=_text_or_none(body, "suspect"),
        fingerprint=_text_or_none(body, "fingerprint"),
        expires_at=_text_or_none(body, "expires_at"),
    )


def _step(draft: _Draft, record: Record) -> None:
    change = draft.interventions.get(_text(record.body, "id"))
    if change is not None:
        detail = {key: value for key, value in record.body.items() if key not in {"id", "step"}}
        step = Step(step=_text(record.body, "step"), at=record.at, detail=detail)
        draft.interventions[change.id] = replace(change, steps=(*change.steps, step))


def _done(draft: _Draft, record: Record) -> None:
    change = draft.interventions.get(_text(record.body, "id"))
    outcome = _text(record.body, "outcome")
    if change is not None and outcome in get_args(InterventionOutcome):
        draft.interventions[change.id] = replace(
            change,
            outcome=cast(InterventionOutcome, outcome),
            live=_text_or_none(record.body, "live"),
            done_at=record.at,
            done_seq=record.seq,
        )


def _observed(draft: _Draft, record: Record) -> None:
    change = draft.interventions.get(_text(record.body, "id"))
    symptom = _text(record.body, "symptom")
    if change is None or (symptom not in {"gone", "persists"} and change.symptom is not None):
        return
    if symptom == "gone":
        change = replace(change, symptom="gone")
    elif symptom == "persists":
        change = replace(change, symptom="persists")
    else:
        change = replace(change, symptom="unknown")
    draft.interventions[change.id] = replace(change, observed_at=record.at, observed_seq=record.seq)


def _comment(draft: _Draft, record: Record) -> None:
    body = record.body
    draft.comments.append(Comment(text=_text(body, "text"), by=_text(body, "by"), at=record.at))


_STEPS: Mapping[RecordKind, Callable[[_Draft, Record], None]] = {
    "case_opened": _opened,
    "case_closed": _closed,
    "suspect_added": _suspect,
    "evidence_added": _evidence,
    "rating_added": _rating,
    "run_started": _run,
    "scene_planned": _scene_planned,
    "scene_played": _scene_played,
    "verdict": _verdict,
    "intervention_planned": _planned,
    "intervention_step": _step,
    "intervention_done": _done,
    "intervention_observed": _observed,
    "comment": _comment,
}


def _note_fingerprint(draft: _Draft, record: Record) -> None:
    fingerprint = _text_or_none(record.body, "fingerprint")
    if fingerprint is not None and record.body.get("type") != "document":
        draft.fingerprints.append((record.seq, fingerprint))


def _text(body: JsonObject, key: str) -> str:
    return _text_or_none(body, key) or ""


def _text_or_none(body: JsonObject, key: str) -> str | None:
    value: Json = body.get(key)
    return value if value is None or isinstance(value, str) else str(value)


def _texts(body: JsonObject, key: str) -> tuple[str, ...]:
    value = body.get(key)
    if isinstance(value, str):
        return (value,)
    return tuple(str(part) for part in value) if isinstance(value, Sequence) else ()


def _whole_or_none(body: JsonObject, key: str) -> int | None:
    value = body.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
