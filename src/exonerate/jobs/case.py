"""The jobs on a case itself: open it, name suspects, add evidence, close it, find it again.

Everything that a person types passes the redactor before it is recorded. Nobody can type in a
state, a verdict or a grade: statements are evidence of grade E, whoever makes them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from exonerate.core.case.fold import fold_case, fold_cases
from exonerate.core.case.model import SYMPTOMS, Case, Suspect
from exonerate.core.case.records import Record, RecordKind
from exonerate.core.case.redaction import Redactor
from exonerate.core.case.suspects import unfalsifiable
from exonerate.core.json_types import JsonObject
from exonerate.core.ports import Clock, Ledger
from exonerate.errors import ExonerateError

TEXT_CHARACTERS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A suspect as somebody names it."""

    claim: str
    mechanism: str
    predicts: Sequence[str]
    predicted_if_false: Sequence[str]
    id: str | None = None
    knob: str | None = None
    fault_class: str | None = None
    hop: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Where a measurement comes from and how much it can bear."""

    source: str
    restarts: int
    design: str
    grade: str
    knob: str | None = None


class CaseBook:
    """Writes into the ledger what people say about cases."""

    def __init__(self, ledger: Ledger, redactor: Redactor) -> None:
        self._ledger = ledger
        self._redactor = redactor

    def open(self, title: str, *, symptom: str | None, deployment: str | None) -> str:
        """Open a case; returns its id.

        Raises:
            ExonerateError: the title is empty or the symptom is not one of those known.
        """
        _check_text(title, "title")
        if symptom is not None and symptom not in SYMPTOMS:
            raise ExonerateError(
                f"`{symptom}` is not a symptom", f"a symptom is one of {', '.join(SYMPTOMS)}"
            )
        case = f"case-{secrets.token_hex(3)}"
        body = {"title": title, "symptom": symptom, "deployment": deployment}
        self._write(case, "case_opened", body)
        return case

    def close(self, case: Case, why: str) -> None:
        """Close a case; its debts stand all the same.

        Raises:
            ExonerateError: it is closed already.
        """
        if not case.is_open:
            raise ExonerateError(
                f"case `{case.id}` was closed at {case.closed_at}",
                "open a new one for new evidence",
            )
        self._write(case.id, "case_closed", {"why": why})

    def add_suspect(self, case: Case, claim: Claim) -> str:
        """Name a suspect; returns its id.

        Raises:
            ExonerateError: nothing could show that it is innocent, or its id is taken.
        """
        check_claim(claim)
        taken = {suspect.id for suspect in case.suspects}
        identity = claim.id or _free_id(claim, taken)
        if identity in taken:
            raise ExonerateError(
                f"case `{case.id}` has a suspect `{identity}` already",
                "give another `--id`; what was claimed stays as it was claimed",
            )
        body = {
            "id": identity,
            "claim": claim.claim,
            "mechanism": claim.mechanism,
            "predicts": list(claim.predicts),
            "predicted_if_false": list(claim.predicted_if_false),
            "knob": claim.knob,
            "class": claim.fault_class,
            "hop": claim.hop,
        }
        self._write(case.id, "suspect_added", body)
        return identity

    def add_statement(
        self, case: Case, statement: str, *, by: str, raises: Sequence[str], clock: Clock
    ) -> str:
        """Record what somebody says, with a name and a time; returns the evidence's id.

        Raises:
            ExonerateError: the statement or the name is empty, or a suspect is not known.
        """
        _check_text(statement, "statement")
        _check_text(by, "name")
        for suspect in raises:
            check_suspect(case, suspect)
        identity = f"statement-{secrets.token_hex(3)}"
        body = {
            "id": identity,
            "type": "statement",
            "source": by,
            "by": by,
            "statement": statement,
            "observed_at": clock.wall(),
            "design": "memory",
            "grade": "E",
            "group": f"said by {by}",
            "raises": list(raises),
        }
        self._write(case.id, "evidence_added", body)
        return identity

    def add_measurement(
        self, case: Case, measured: Measurement, *, content: JsonObject, clock: Clock
    ) -> str:
        """Record a measurement: `content` beside what every piece of evidence says of itself."""
        identity = f"measurement-{secrets.token_hex(3)}"
        body = {
            **content,
            "id": identity,
            "type": "measurement",
            "source": measured.source,
            "observed_at": clock.wall(),
            "restarts": measured.restarts,
            "design": measured.design,
            "grade": measured.grade,
            "group": identity,
            "knob": measured.knob,
        }
        self._write(case.id, "evidence_added", body)
        return identity

    def add_observation(self, case: Case, *, source: str, content: JsonObject, clock: Clock) -> str:
        """Record what was seen without an experiment; one look is evidence of grade D."""
        identity = f"observation-{secrets.token_hex(3)}"
        body = {
            **content,
            "id": identity,
            "type": "observation",
            "source": source,
            "observed_at": clock.wall(),
            "design": "one look",
            "grade": "D",
            "group": identity,
        }
        self._write(case.id, "evidence_added", body)
        return identity

    def point_at(self, case: Case, suspect: str, evidence: Sequence[str], *, why: str) -> None:
        """Say that evidence fits a suspect, which raises the suspect and does no more.

        Raises:
            ExonerateError: the suspect is not known.
        """
        check_suspect(case, suspect)
        for piece in evidence:
            body = {"suspect": suspect, "evidence": piece, "fit": "C", "why": why, "by": "human"}
            self._write(case.id, "rating_added", body)

    def _write(self, case: str, kind: RecordKind, body: JsonObject) -> Record:
        return self._ledger.append(case=case, kind=kind, body=self._redactor.body(body))


def check_claim(claim: Claim) -> None:
    """Refuse a suspect that nothing could show to be innocent.

    Raises:
        ExonerateError: says what its predictions lack.
    """
    suspect = Suspect(
        id="",
        claim=claim.claim,
        mechanism=claim.mechanism,
        predicts=tuple(claim.predicts),
        predicted_if_false=tuple(claim.predicted_if_false),
        added_at="",
    )
    problem = unfalsifiable(suspect)
    if problem is not None:
        raise ExonerateError(
            f"the suspect is not admitted: {problem}",
            "say with `--predicts` what would be seen if it is true, and with `--if-false` "
            "what would be seen if it is not",
        )


def check_suspect(case: Case, suspect: str) -> None:
    """Refuse a suspect that the case does not have.

    Raises:
        ExonerateError: names those it has.
    """
    known = [one.id for one in case.suspects]
    if suspect not in known:
        raise ExonerateError(
            f"case `{case.id}` has no suspect `{suspect}`",
            f"its suspects are {', '.join(known)}; add one with `exonerate case suspect add`",
        )


def find_case(ledger: Ledger, given: str | None, *, as_of: str | None = None) -> Case | None:
    """The case of that id, or the only open one, or None when none is open.

    Raises:
        ExonerateError: there is no such case, or several are open and none was named.
    """
    records = ledger.records()
    if given is not None:
        return fold_case(records, given, as_of=as_of)
    open_cases = [case for case in fold_cases(records, as_of=as_of) if case.is_open]
    if len(open_cases) > 1:
        names = ", ".join(f"`{case.id}` ({case.title})" for case in open_cases)
        raise ExonerateError(f"several cases are open: {names}", "name one with `--case ID`")
    return open_cases[0] if open_cases else None


def needed_case(ledger: Ledger, given: str | None, *, as_of: str | None = None) -> Case:
    """As `find_case`, but one must be there."""
    case = find_case(ledger, given, as_of=as_of)
    if case is None:
        raise ExonerateError(
            "no case is open",
            "open one with `exonerate case open TITLE`, or name one with `--case`",
        )
    return case


def list_cases(ledger: Ledger, *, as_of: str | None = None) -> tuple[Case, ...]:
    """Every case: the unfinished ones first, then the open ones, the newest first."""
    cases = fold_cases(ledger.records(), as_of=as_of)
    newest_first = sorted(cases, key=lambda case: case.opened_at, reverse=True)
    return tuple(sorted(newest_first, key=lambda case: (not case.is_unfinished, not case.is_open)))


def _free_id(claim: Claim, taken: set[str]) -> str:
    """The knob's or the class's name, else a number."""
    named = claim.knob or claim.fault_class
    if named is not None and named not in taken:
        return named
    # One more than there are suspects is free, or one of the next few is.
    numbers = (f"suspect-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in numbers if name not in taken)


def _check_text(text: str, what: str) -> None:
    if not text.strip():
        raise ExonerateError(f"the {what} is empty", f"give a {what} of some words")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise ExonerateError(
            f"the {what} has {len(text)} characters; the limit is {TEXT_CHARACTERS_MAX}",
            "put it into a file and add that with `exonerate case evidence --file FILE`",
        )
