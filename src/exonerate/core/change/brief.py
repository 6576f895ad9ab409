"""The restore brief: what is known before a knob gets its value back.

It says what the value gives back and how good that number is, which claims of correctness were
measured, only claimed, or never looked at, what cleared the suspect, what is assumed, and what is
recommended. It computes nothing new: it reads the case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from exonerate.core.case.debt import DebtItem, PriceClass, debt
from exonerate.core.case.model import Case, Evidence, Intervention
from exonerate.core.case.prices import Price, names_knob, prices_of
from exonerate.core.case.reverts import tested_suspect
from exonerate.core.change.one_setting import OneSettingProof
from exonerate.core.change.plan import ChangePlan
from exonerate.core.json_types import Json, JsonObject

SCHEMA = "exonerate.restore-brief/1"
DIGITS = 6

ClaimStatus: TypeAlias = Literal["measured", "claimed", "unknown"]
Recommendation: TypeAlias = Literal["restore", "restore-as-test", "keep"]

QUESTIONS: tuple[str, ...] = (
    "the output at temperature 0 is the same at both values",
    "inputs with NaN, infinity or denormal numbers behave the same at both values",
)
"""What a change of speed may break; listed as unknown unless the case holds a measurement."""

_GRADE_DOUBTS: Mapping[str, str] = {
    "C": "the price rests on repeats without restarts, or on one arm after the other",
    "D": "the price rests on one run per cell, never repeated",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefClaim:
    """One claim about correctness, and whether anybody measured it."""

    text: str
    status: ClaimStatus
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """Which verdict cleared the knob, and why."""

    verdict: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreBrief:
    """Everything that is known before the change is made."""

    plan: ChangePlan
    proof: OneSettingProof
    hypothesis: str
    state: str
    state_why: str
    prices: tuple[Price, ...]
    price_class: PriceClass
    claims: tuple[BriefClaim, ...]
    statements: tuple[str, ...]
    clearance: Clearance | None
    assumptions: tuple[str, ...]
    recommendation: Recommendation
    recommendation_why: str


def restore_brief(
    plan: ChangePlan,
    proof: OneSettingProof,
    cases: Sequence[Case],
    *,
    fingerprint: str | None = None,
) -> RestoreBrief:
    """The brief for a planned restore; `plan.undoes` names the revert it takes back."""
    case, change = _undone(plan, cases)
    item = _debt_item(plan, cases, fingerprint)
    suspect = tested_suspect(case, change)
    prices = item.prices if item is not None else ()
    price_class: PriceClass = item.price_class if item is not None else "unpriced"
    clearance = _clearance(plan.knob, cases)
    claims = tuple(_claims(plan.knob, cases))
    recommendation, why = _recommended(change, clearance)
    return RestoreBrief(
        plan=plan,
        proof=proof,
        hypothesis=suspect.claim if suspect is not None else change.purpose,
        state=change.state,
        state_why=change.why,
        prices=prices,
        price_class=price_class,
        claims=claims,
        statements=tuple(_statements(case)),
        clearance=clearance,
        assumptions=tuple(_assumptions(prices, price_class, claims, clearance, change)),
        recommendation=recommendation,
        recommendation_why=why,
    )


def brief_json(brief: RestoreBrief) -> JsonObject:
    """The brief as `knob restore --dry-run --json` prints it."""
    plan, clearance = brief.plan, brief.clearance
    return {
        "schema": SCHEMA,
        "knob": plan.knob,
        "service": plan.service,
        "file": plan.file,
        "live": plan.was,
        "restored": plan.to,
        "undoes": plan.undoes,
        "restart": plan.restart,
        "hypothesis": brief.hypothesis,
        "state": brief.state,
        "state_why": brief.state_why,
        "price": [_price_json(price) for price in brief.prices],
        "class": brief.price_class,
        "claims": [
            {"text": claim.text, "status": claim.status, "source": claim.source}
            for claim in brief.claims
        ],
        "statements": list(brief.statements),
        "cleared_by": None
        if clearance is None
        else {"verdict": clearance.verdict, "why": clearance.why},
        "one_setting": True,
        "lines_removed": list(brief.proof.lines_removed),
        "lines_added": list(brief.proof.lines_added),
        "diff": brief.proof.diff,
        "assumptions": list(brief.assumptions),
        "recommendation": brief.recommendation,
        "recommendation_why": brief.recommendation_why,
    }


def gain_of(loss: float) -> float:
    """What is gained at the restored value over the live one, from the loss at the live one."""
    return 1.0 / (1.0 - loss) - 1.0 if loss < 1.0 else float("inf")


def _price_json(price: Price) -> JsonObject:
    bounds = None if price.ci is None else [round(gain_of(end), DIGITS) for end in price.ci]
    return {
        "cell": price.cell,
        "cell_kind": price.cell_kind,
        "metric": price.metric,
        "gain": round(gain_of(price.loss), DIGITS),
        "ci": bounds,
        "grade": price.grade,
        "source": price.source,
    }


def _undone(plan: ChangePlan, cases: Sequence[Case]) -> tuple[Case, Intervention]:
    for case in cases:
        for change in case.interventions:
            if change.id == plan.undoes:
                return case, change
    raise AssertionError(f"the plan undoes {plan.undoes}, which no case has")


def _debt_item(plan: ChangePlan, cases: Sequence[Case], fingerprint: str | None) -> DebtItem | None:
    items = debt(cases, {plan.knob: plan.was}, prices_of(cases), fingerprint=fingerprint)
    return next((i for i in items if i.standing.intervention.id == plan.undoes), None)


def _clearance(knob: str, cases: Sequence[Case]) -> Clearance | None:
    for case in reversed(cases):
        for verdict in reversed(case.verdicts):
            if verdict.job != "locate":
                continue
            for entry in _objects(verdict.answer.get("cleared")):
                if entry.get("knob") == knob:
                    return Clearance(verdict=verdict.id, why=str(entry.get("why", "")))
    return None


def _claims(knob: str, cases: Sequence[Case]) -> Iterator[BriefClaim]:
    evidence = [piece for case in cases for piece in case.evidence]
    measured: set[str] = set()
    for piece in evidence:
        claim = piece.content.get("claim")
        if piece.type == "measurement" and isinstance(claim, str):
            measured.add(claim)
            yield BriefClaim(text=claim, status="measured", source=piece.id)
    for piece in evidence:
        about = piece.content.get("knob")
        if about is None or names_knob(str(about), knob):
            yield from _claimed(piece)
    for question in QUESTIONS:
        if question not in measured:
            yield BriefClaim(text=question, status="unknown")


def _claimed(piece: Evidence) -> Iterator[BriefClaim]:
    reading = piece.content.get("reading")
    sources = _objects(reading.get("sources")) if isinstance(reading, Mapping) else []
    for source in sources:
        for claim in _objects(source.get("claims")):
            text = str(claim.get("text", ""))
            if not claim.get("defined"):
                text += " (the document does not say how it was measured)"
            place = f"{piece.source}:{claim.get('line', '')}".rstrip(":")
            yield BriefClaim(text=text, status="claimed", source=place)


def _statements(case: Case) -> Iterator[str]:
    for piece in case.evidence:
        if piece.type == "statement":
            yield f"{piece.by or 'somebody'}: {piece.statement or ''}"


def _assumptions(
    prices: Sequence[Price],
    price_class: PriceClass,
    claims: Sequence[BriefClaim],
    clearance: Clearance | None,
    change: Intervention,
) -> Iterator[str]:
    if price_class == "unpriced":
        yield "what the value gives back is not known: the case holds no graded evidence of it"
    if price_class == "stale":
        yield "the price was measured in another environment than today's"
    worst = max((price.grade for price in prices), default="A")
    if worst in _GRADE_DOUBTS:
        yield _GRADE_DOUBTS[worst]
    if clearance is None:
        yield "nothing has cleared the suspect: the symptom may come back with the value"
    if any(claim.status != "measured" for claim in claims):
        yield "correctness at the restored value was not measured in this case"
    for confound in change.confounds:
        if confound != "restart":
            yield f"about the revert: {confound}"
    yield "that the value arrived is read from the processes; its effect only the engine knows"


def _recommended(change: Intervention, clearance: Clearance | None) -> tuple[Recommendation, str]:
    if change.state == "supported":
        return "keep", f"the suspicion is supported: {change.why}"
    if change.state == "refuted":
        return "restore", f"the suspicion is refuted: {change.why}"
    if clearance is not None:
        return "restore", f"the knob was cleared: {clearance.why}"
    return (
        "restore-as-test",
        f"the suspicion is {change.state} and was never proved;"
        " putting the value back is the half of the test that is missing",
    )


def _objects(value: Json) -> list[JsonObject]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]
