"""What a case is once its records are folded: values, nothing that decides.

`core.case.fold.fold_cases` makes these from records; reports and front ends read them. Every
state in here was derived from evidence; none of them was ever typed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from exonerate.core.json_types import JsonObject

Symptom: TypeAlias = Literal["hang", "slow", "truncated", "corrupted", "errors"]
SYMPTOMS: tuple[str, ...] = get_args(Symptom)

Grade: TypeAlias = Literal["A", "B", "C", "D", "E"]
GRADES: tuple[str, ...] = get_args(Grade)

Fit: TypeAlias = Literal["CC", "C", "N", "I", "II", "NA"]
FITS: tuple[str, ...] = get_args(Fit)

EvidenceType: TypeAlias = Literal["statement", "document", "measurement", "observation"]

SuspectState: TypeAlias = Literal["open", "raised", "cleared", "refuted", "supported"]
"""`raised`: a statement or document points here; `cleared`: a verdict of `locate` says why not;
`refuted` and `supported` need an experiment or proof from both faces of a hop."""

InterventionType: TypeAlias = Literal["revert", "adopt", "apply", "restore", "restart"]
"""`adopt` takes in a revert that was made before Exonerate came."""

InterventionOutcome: TypeAlias = Literal["committed", "rolled-back", "rollback-failed", "refused"]

InterventionState: TypeAlias = Literal[
    "active", "supported", "refuted", "consistent", "confounded", "inconclusive", "expired"
]

MEASUREMENT_ARTEFACT = "measurement-artefact"
NONE_OF_THESE = "none-of-these"
"""Ids of the two suspects that every case has from the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One explanation that could be wrong: what it claims, how it would act, what would show it.

    `knob` or `fault_class` (a class of `locate`) tie it to what experiments can say about it.
    """

    id: str
    claim: str
    mechanism: str
    predicts: tuple[str, ...]
    predicted_if_false: tuple[str, ...]
    added_at: str
    knob: str | None = None
    fault_class: str | None = None
    hop: str | None = None
    mandatory: bool = False
    state: SuspectState = "open"
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence with where it is from and how far it can carry.

    `group` names what it is independent of: pieces of one group count once. `content` holds the
    whole recorded body, the reading of a document among it.
    """

    id: str
    type: EvidenceType
    source: str
    recorded_at: str
    grade: Grade
    group: str
    statement: str | None = None
    by: str | None = None
    sha256: str | None = None
    observed_at: str | None = None
    restarts: int | None = None
    design: str | None = None
    fingerprint: str | None = None
    raises: tuple[str, ...] = ()
    content: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """How one suspect fits one piece of evidence, and who says so (rule, human or llm)."""

    suspect: str
    evidence: str
    fit: Fit
    why: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line in the journal of a change."""

    step: str
    at: str
    detail: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One change of the system, as the test of a hypothesis.

    `was` is the value before and `to` the one aimed at; `outcome` is None while the intent has no
    end recorded. `live` is what the service had when the change ended.
    """

    id: str
    case: str
    type: InterventionType
    knob: str | None
    service: str | None
    was: str | None
    to: str | None
    purpose: str
    prediction: str
    confounds: tuple[str, ...]
    planned_at: str
    planned_seq: int
    suspect: str | None = None
    fingerprint: str | None = None
    expires_at: str | None = None
    steps: tuple[Step, ...] = ()
    outcome: InterventionOutcome | None = None
    live: str | None = None
    done_at: str | None = None
    done_seq: int | None = None
    symptom: Literal["gone", "persists", "unknown"] | None = None
    observed_at: str | None = None
    observed_seq: int | None = None
    state: InterventionState = "active"
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVerdict:
    """A verdict as it was computed; `answer` is what the job printed with `--json`."""

    id: str
    seq: int
    run: str | None
    job: str
    rules: str
    at: str
    answer: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class UnplayedScene:
    """A scene whose intent was written down and whose events were not: something stopped there."""

    run: str | None
    scene: str
    why: str
    planned_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one job: what it was asked, how far it came."""

    id: str
    seq: int
    job: str
    rules: str
    seed: int | None
    started_at: str
    options: JsonObject = field(default_factory=dict)
    scenes_planned: int = 0
    scenes_played: int = 0
    verdict: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """What somebody (or an assistant) said about the case; it carries no weight."""

    text: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSuspect:
    """A suspect's place: the less evidence speaks against it, the higher it stands."""

    suspect: str
    inconsistency: float
    consistency: float
    ratings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Suspects by weighted inconsistency, and what the order hangs on.

    `diagnosticity` says how far each piece of evidence tells suspects apart (0 means not at all).
    `flipped_by` names each single piece whose removal would put another suspect first, the weakest
    piece first.
    """

    suspects: tuple[RankedSuspect, ...] = ()
    diagnosticity: Mapping[str, float] = field(default_factory=dict)
    flipped_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything the ledger knows about one case, folded.

    `open_intents` are changes that were planned and whose end was never recorded; together with
    `unplayed` scenes they are what a crash leaves behind, so they are shown first.
    """

    id: str
    title: str
    symptom: str | None
    deployment: str | None
    opened_at: str
    closed_at: str | None = None
    closed_why: str | None = None
    suspects: tuple[Suspect, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    ratings: tuple[Rating, ...] = ()
    ranking: Ranking = field(default_factory=Ranking)
    interventions: tuple[Intervention, ...] = ()
    runs: tuple[Run, ...] = ()
    verdicts: tuple[RecordedVerdict, ...] = ()
    comments: tuple[Comment, ...] = ()
    unplayed: tuple[UnplayedScene, ...] = ()

    @property
    def is_open(self) -> bool:
        """True until the case was closed."""
        return self.closed_at is None

    @property
    def open_intents(self) -> tuple[Intervention, ...]:
        """Changes that were planned and whose end was never recorded."""
        return tuple(change for change in self.interventions if change.outcome is None)

    @property
    def is_unfinished(self) -> bool:
        """True when something was begun in this case and its outcome is not on record."""
        return bool(self.open_intents or self.unplayed)

    @property
    def statements(self) -> tuple[Evidence, ...]:
        """The evidence that is what somebody said."""
        return tuple(piece for piece in self.evidence if piece.type == "statement")
