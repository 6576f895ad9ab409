"""The story of a case as values: what every form of the report (terminal, Markdown, HTML) shows.

Made from the folded case and the answers recorded in it; nothing is computed here that could
change a verdict. Texts in here are cleaned of control characters, each renderer escapes them
for its own form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exonerate.core.case.model import Case, Evidence, Intervention, Suspect
from exonerate.core.json_access import at
from exonerate.core.json_types import JsonObject
from exonerate.report.experiments import (
    ComparisonView,
    CureView,
    DebtView,
    DocumentView,
    comparison_view,
    cure_view,
    debt_views,
    document_views,
)
from exonerate.report.phrases import age, clock_time, listed, load, unsigned_percent, visible
from exonerate.report.verdict_view import VerdictView, verdict_paragraph, verdict_view

FIT_WORDS = {
    "CC": "speaks strongly for it",
    "C": "fits",
    "N": "says nothing",
    "I": "does not fit",
    "II": "contradicts it",
    "NA": "does not apply",
}


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """A piece of evidence with a short label (`E3`) by which the matrix names it."""

    label: str
    id: str
    type: str
    summary: str
    source: str
    by: str
    grade: str
    age: str
    observed: str
    group: str
    restarts: str
    sha256: str


@dataclass(frozen=True, slots=True)
class SuspectRow:
    """A suspect with its state, how each piece of evidence fits it, and what contradicts it."""

    claim: str
    mechanism: str
    state: str
    why: str
    since: str
    knob: str
    fits: tuple[str, ...]
    contradicted_by: tuple[str, ...]
    mandatory: bool


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Who suspected what, when, and where it came from."""

    when: str
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class InterventionView:
    """A change of the system with the state of the hypothesis that it tests."""

    when: str
    what: str
    purpose: str
    prediction: str
    outcome: str
    symptom: str
    state: str
    why: str
    confounds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that a report of a case shows, in the order in which it is told."""

    case: str
    title: str
    symptom: str
    deployment: str
    opened: str
    status: str
    written: str
    paragraph: str
    unfinished: tuple[str, ...]
    suspicions: tuple[Suspicion, ...]
    verdict: VerdictView | None
    evidence: tuple[EvidenceView, ...]
    suspects: tuple[SuspectRow, ...]
    comparisons: tuple[ComparisonView, ...]
    documents: tuple[DocumentView, ...]
    interventions: tuple[InterventionView, ...]
    cure: CureView | None
    debt: tuple[DebtView, ...]
    debt_known: bool
    not_examined: tuple[str, ...]
    next_steps: tuple[str, ...]
    comments: tuple[str, ...]


def tell(case: Case, *, now: str, debt: JsonObject | None = None) -> Story:
    """The story of a case.

    Args:
        case: folded from the ledger.
        now: wall time of the report, ISO 8601; ages are counted to it.
        debt: an `exonerate.debt/1` answer, or None when nobody asked for one.
    """
    verdict = _decisive(case)
    evidence = _evidence(case, now)
    debts = debt_views(debt) if debt is not None else ()
    return Story(
        case=visible(case.id, 80),
        title=visible(case.title, 200),
        symptom=visible(case.symptom or "not stated", 80),
        deployment=visible(case.deployment or "—", 200),
        opened=clock_time(case.opened_at),
        status=_status(case),
        written=clock_time(now),
        paragraph=_paragraph(case, verdict, debts),
        unfinished=_unfinished(case),
        suspicions=_suspicions(case),
        verdict=verdict,
        evidence=evidence,
        suspects=_suspect_rows(case, evidence),
        comparisons=tuple(
            comparison_view(recorded.answer, clock_time(recorded.at), recorded.job)
            for recorded in case.verdicts
            if recorded.job in ("ab", "aa")
        ),
        documents=tuple(view for piece in case.evidence for view in document_views(piece.content)),
        interventions=tuple(_intervention(change) for change in _in_time_order(case)),
        cure=_cure(case),
        debt=debts,
        debt_known=debt is not None,
        not_examined=verdict.not_examined if verdict else (),
        next_steps=verdict.next_steps if verdict else ("exonerate locate, to find the layer",),
        comments=tuple(
            f"{visible(said.by, 80)}, {clock_time(said.at)}: {visible(said.text)}"
            for said in case.comments
        ),
    )


def _decisive(case: Case) -> VerdictView | None:
    """The last conviction of `locate`, else its last verdict."""
    found = [verdict for verdict in case.verdicts if verdict.job == "locate"]
    if not found:
        return None
    convicting = [verdict for verdict in found if verdict.answer.get("outcome") == "fault"]
    chosen = (convicting or found)[-1]
    return verdict_view(chosen.answer, chosen.at)


def _status(case: Case) -> str:
    if case.closed_at is None:
        return "open"
    why = f": {visible(case.closed_why, 200)}" if case.closed_why else ""
    return f"closed {clock_time(case.closed_at)}{why}"


def _paragraph(case: Case, verdict: VerdictView | None, debts: Sequence[DebtView]) -> str:
    """What somebody on call can act on: who, who not, what still stands, what to do."""
    standing = " ".join(_standing(debt) for debt in debts[:3] if debt.live != debt.was)
    if verdict is not None:
        return verdict_paragraph(verdict, standing)
    symptom = visible(case.symptom or "symptom", 80)
    return f"The cause of the {symptom} has not been located yet. {standing}".strip()


def _standing(debt: DebtView) -> str:
    worst = max(debt.prices, key=lambda price: price.loss, default=None)
    cost = "its price was never measured"
    if worst is not None and worst.loss > 0:
        cost = (
            f"it costs {unsigned_percent(worst.loss)} at a load of {load(worst.cell)} "
            f"(grade {worst.grade})"
        )
    return f"{debt.knob} still stands at {debt.live} instead of {debt.was}: {cost}."


def _unfinished(case: Case) -> tuple[str, ...]:
    """What a crash or a kill left behind; it is shown before everything else."""
    changes = [
        f"the {change.type} of {visible(change.knob or 'a service', 120)} begun "
        f"{clock_time(change.planned_at)} has no recorded end"
        for change in case.open_intents
    ]
    scenes = [
        f"a scene planned {clock_time(scene.planned_at)} was not played to its end"
        for scene in case.unplayed
    ]
    return tuple(changes + scenes)


def _suspicions(case: Case) -> tuple[Suspicion, ...]:
    said = [
        (
            piece.observed_at or piece.recorded_at,
            visible(piece.by or "somebody", 80),
            f"“{visible(piece.statement or '')}”",
        )
        for piece in case.statements
    ]
    raised = [
        (suspect.added_at, "the case", visible(suspect.claim))
        for suspect in case.suspects
        if not suspect.mandatory
    ]
    ordered = sorted([*said, *raised], key=lambda entry: entry[0])
    return tuple(Suspicion(clock_time(when), who, what) for when, who, what in ordered)


def _evidence(case: Case, now: str) -> tuple[EvidenceView, ...]:
    return tuple(
        EvidenceView(
            label=f"E{number}",
            id=visible(piece.id, 120),
            type=piece.type,
            summary=_summary(piece),
            source=visible(piece.source, 300),
            by=visible(piece.by or "", 80),
            grade=piece.grade,
            age=age(piece.observed_at or piece.recorded_at, now),
            observed=clock_time(piece.observed_at or piece.recorded_at),
            group=visible(piece.group, 80),
            restarts="—" if piece.restarts is None else str(piece.restarts),
            sha256=(piece.sha256 or "")[:12],
        )
        for number, piece in enumerate(case.evidence, start=1)
    )


def _summary(piece: Evidence) -> str:
    if piece.statement:
        return f"“{visible(piece.statement)}”"
    text = at(piece.content, "text") or at(piece.content, "summary") or at(piece.content, "what")
    if text:
        return visible(text)
    documents = document_views(piece.content)
    tables = [table for document in documents for table in document.tables if not table.copy_of]
    if tables:
        return f"{listed([table.headline for table in tables[:2]])}"
    return visible(piece.source, 300)


def _suspect_rows(case: Case, evidence: Sequence[EvidenceView]) -> tuple[SuspectRow, ...]:
    """Suspects by rank; seeds that no evidence has touched come last."""
    place = {ranked.suspect: number for number, ranked in enumerate(case.ranking.suspects)}
    ordered = sorted(
        case.suspects, key=lambda suspect: (suspect.mandatory, place.get(suspect.id, len(place)))
    )
    return tuple(_suspect_row(case, suspect, evidence) for suspect in ordered)


def _suspect_row(case: Case, suspect: Suspect, evidence: Sequence[EvidenceView]) -> SuspectRow:
    fits = {rating.evidence: rating.fit for rating in case.ratings if rating.suspect == suspect.id}
    row = tuple(str(fits.get(piece.id, "")) for piece in case.evidence)
    against = tuple(
        view.label for view, fit in zip(evidence, row, strict=True) if fit in ("I", "II")
    )
    return SuspectRow(
        claim=visible(suspect.claim),
        mechanism=visible(suspect.mechanism),
        state=suspect.state,
        why=visible(suspect.why),
        since=clock_time(suspect.added_at),
        knob=visible(suspect.knob or "", 120),
        fits=row,
        contradicted_by=against,
        mandatory=suspect.mandatory,
    )


def _in_time_order(case: Case) -> list[Intervention]:
    return sorted(case.interventions, key=lambda change: change.planned_seq)


def _intervention(change: Intervention) -> InterventionView:
    what = f"{change.type} {visible(change.knob or change.service or '', 120)}".strip()
    if change.was is not None or change.to is not None:
        what += f": {_setting(change.was)} → {_setting(change.to)}"
    return InterventionView(
        when=clock_time(change.done_at or change.planned_at),
        what=what,
        purpose=visible(change.purpose),
        prediction=visible(change.prediction),
        outcome=change.outcome or "no end recorded",
        symptom=change.symptom or "not observed",
        state=change.state,
        why=visible(change.why),
        confounds=tuple(map(visible, change.confounds)),
    )


def _setting(value: str | None) -> str:
    return "absent" if value is None else visible(value, 120)


def _cure(case: Case) -> CureView | None:
    """The last check of the cure: a verdict of that job, or evidence that holds one."""
    answers = [verdict.answer for verdict in case.verdicts if verdict.job == "cure"]
    for piece in case.evidence:
        inside = at(piece.content, "cure")
        if isinstance(inside, Mapping):
            answers.append(inside)
    views = [view for answer in answers if (view := cure_view(answer)) is not None]
    return views[-1] if views else None
