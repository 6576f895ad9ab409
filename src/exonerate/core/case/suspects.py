"""Suspects: which are admitted, which come with every case, and what became of each.

Rules: statements and documents raise a suspect and do no more, whatever their number or grade;
`locate` clears what it proved innocent; only an experiment, or proof of the suspect's own class,
supports or refutes.
"""

from __future__ import annotations

from dataclasses import replace

from exonerate.core.case.answers import cleared, convictions, faults_of
from exonerate.core.case.model import (
    MEASUREMENT_ARTEFACT,
    NONE_OF_THESE,
    Case,
    Suspect,
    SuspectState,
)
from exonerate.core.case.reverts import tested_suspect


def mandatory_suspects(opened_at: str) -> tuple[Suspect, ...]:
    """The two explanations that no case may leave out."""
    return (
        Suspect(
            id=MEASUREMENT_ARTEFACT,
            claim="measurement artefact",
            mechanism="the instrument, not the service, makes the symptom",
            predicts=("the symptom is not seen by a second, independent instrument",),
            predicted_if_false=("another client or the engine's own counters show it too",),
            added_at=opened_at,
            mandatory=True,
        ),
        Suspect(
            id=NONE_OF_THESE,
            claim="none of these",
            mechanism="something that nobody has named yet",
            predicts=("every named suspect is refuted or cleared and the symptom stays",),
            predicted_if_false=("one named suspect is proved",),
            added_at=opened_at,
            mandatory=True,
        ),
    )


def unfalsifiable(suspect: Suspect) -> str | None:
    """Why nothing could show that the suspect is innocent, or None when something could."""
    if not suspect.claim.strip():
        return "it claims nothing"
    if not any(prediction.strip() for prediction in suspect.predicts):
        return "it predicts nothing"
    if not any(prediction.strip() for prediction in suspect.predicted_if_false):
        return "it does not say what would be seen if it were false"
    if set(suspect.predicts) & set(suspect.predicted_if_false):
        return "it predicts the same whether it is true or false"
    return None


def judged_suspects(case: Case) -> tuple[Suspect, ...]:
    """Every suspect with its state and the reason; interventions must be judged already."""
    return tuple(_judged(case, suspect) for suspect in case.suspects)


def _judged(case: Case, suspect: Suspect) -> Suspect:
    proofs = _proofs(case, suspect)
    states = {state for state, _ in proofs}
    if states == {"supported", "refuted"}:
        why = "the evidence conflicts: " + "; ".join(why for _, why in proofs)
        return replace(suspect, state="raised", why=why)
    if proofs:
        state, why = proofs[-1]
        return replace(suspect, state=state, why=why)
    why_cleared = _cleared(case, suspect)
    if why_cleared is not None:
        return replace(suspect, state="cleared", why=why_cleared)
    fitting = {
        rating.evidence
        for rating in case.ratings
        if rating.suspect == suspect.id and rating.fit in {"C", "CC"}
    }
    raising = [
        piece for piece in case.evidence if suspect.id in piece.raises or piece.id in fitting
    ]
    if raising:
        sources = ", ".join(piece.by or piece.source for piece in raising)
        return replace(suspect, state="raised", why=f"raised by {sources}")
    return suspect


def _proofs(case: Case, suspect: Suspect) -> list[tuple[SuspectState, str]]:
    """What experiments and convictions say, in the order of the records."""
    found: list[tuple[SuspectState, str]] = []
    for change in case.interventions:
        tested = tested_suspect(case, change)
        if tested is not None and tested.id == suspect.id:
            if change.state == "supported":
                found.append(("supported", change.why))
            elif change.state == "refuted":
                found.append(("refuted", change.why))
    for verdict in convictions(case):
        for fault in faults_of(verdict):
            same_place = suspect.hop is None or suspect.hop in fault.hops
            if fault.fault_class == suspect.fault_class and same_place:
                where = " and ".join(fault.hops)
                found.append(("supported", f"`{fault.fault_class}` was proved at {where}"))
    return found


def _cleared(case: Case, suspect: Suspect) -> str | None:
    if suspect.knob is not None:
        return cleared(case, "knob", suspect.knob)
    if suspect.hop is not None:
        return cleared(case, "hop", suspect.hop)
    return None
