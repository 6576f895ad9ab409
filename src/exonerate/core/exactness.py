"""What was measured of a split-K implementation: values, the verdict on each property, a sentence.

Three words that are often taken for one:
    deterministic     the same input and the same number of splits give the same bits
    split-invariant   any number of splits gives the same bits
    batch-invariant   a sequence gets the same bits whatever else is in the batch

Only the first is promised unless more is asked for: addition of rounded numbers is not
associative, so a merge of partial results that is exact in real arithmetic moves the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from exonerate.core.json_types import JsonObject

SCHEMA = "exonerate.splitk_check/1"


class Property(StrEnum):
    """What can be true of an implementation."""

    ANSWERS = "answers"
    DETERMINISTIC = "deterministic"
    ACCURATE = "accurate"
    SAME_CLASS = "same_class"
    READS_WITHIN_LENGTH = "reads_within_length"
    WRITES_WITHIN_OUTPUT = "writes_within_output"
    SPLIT_INVARIANT = "split_invariant"
    BATCH_INVARIANT = "batch_invariant"


MEANINGS: dict[Property, str] = {
    Property.ANSWERS: "neither crashes, hangs nor returns something else than asked",
    Property.DETERMINISTIC: "same input, same splits: same bits, whatever memory held before",
    Property.ACCURATE: "within the error bound of float64 attention",
    Property.SAME_CLASS: "NaN and infinity in the same places at every number of splits",
    Property.READS_WITHIN_LENGTH: "nothing past a sequence's length reaches the answer",
    Property.WRITES_WITHIN_OUTPUT: "nothing but the output is written",
    Property.SPLIT_INVARIANT: "any number of splits gives the same bits",
    Property.BATCH_INVARIANT: "a sequence gets the same bits whatever its batch mates are",
}

PROMISED_BY_DEFAULT = (
    Property.ANSWERS,
    Property.DETERMINISTIC,
    Property.ACCURATE,
    Property.SAME_CLASS,
    Property.READS_WITHIN_LENGTH,
    Property.WRITES_WITHIN_OUTPUT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which a property does not hold, with the smallest input found that shows it.

    Args:
        condition: name of what the input is about
        why: what it is about, and who has failed there
        broken: a promised property is broken; otherwise it is only told
        saved: file from which it can be replayed; empty when nothing was saved
    """

    property: Property
    condition: str
    broken: bool
    dtype: str
    splits: int
    what: str
    shape: JsonObject
    why: str = ""
    saved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPoint:
    """Error against float64, and difference to one split, at one number of splits."""

    dtype: str
    splits: int
    error_max: float
    error_rms: float
    of_bound: float
    changed_share: float
    ulp_max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Everything that one sweep showed.

    Args:
        trials: how many trials judged each property
        violated: how many of them violated it
        seeds: of the inputs
    """

    target: str
    level: str
    seed: int
    promised: Sequence[Property]
    trials: dict[Property, int]
    violated: dict[Property, int]
    findings: Sequence[Finding]
    error_by_splits: Sequence[ErrorPoint]
    conventions: dict[str, Sequence[str]]
    not_examined: Sequence[str]
    dtypes: Sequence[str]
    partial_dtype: str
    calls: int
    elapsed_s: float
    versions: dict[str, str] = field(default_factory=dict)
    ulp_allowed: float | None = None

    @property
    def broken(self) -> bool:
        """Whether a promised property does not hold."""
        return any(finding.broken for finding in self.findings)

    def verdict(self, check: Property) -> str:
        """`holds`, `broken` or `not_examined`."""
        if self.violated.get(check, 0):
            return "broken"
        return "holds" if self.trials.get(check, 0) else "not_examined"


def sentence(proof: Proof) -> str:
    """One honest sentence for a change review, in place of "mathematically exact"."""
    clauses = [
        _determinism(proof),
        _invariance(proof),
        _accuracy(proof),
        _classes(proof),
    ]
    dtypes = ", ".join(proof.dtypes) or "no dtype"
    return (
        f"Exact in real arithmetic; as measured on {proof.calls} calls ({dtypes}) `{proof.target}` "
        + "; ".join(filter(None, clauses))
        + "."
    )


def _determinism(proof: Proof) -> str:
    match proof.verdict(Property.DETERMINISTIC):
        case "holds":
            return "gave the same bits every time for a fixed number of splits"
        case "broken":
            return "did not give the same bits every time for a fixed number of splits"
        case _:
            return "was not examined for determinism"


def _invariance(proof: Proof) -> str:
    many = [point for point in proof.error_by_splits if point.splits > 1]
    if not many:
        return "was not compared across numbers of splits"
    if all(point.changed_share == 0 for point in many):
        return "gave the same bits at every number of splits tried"
    changes = []
    for dtype in dict.fromkeys(point.dtype for point in many):
        points = [point for point in many if point.dtype == dtype]
        share = max(point.changed_share for point in points)
        changes.append(f"{share:.1%} ({dtype}, {max(p.ulp_max for p in points):.2g} ulp)")
    mates = proof.verdict(Property.BATCH_INVARIANT)
    batch = {"broken": "changes", "holds": "does not change"}.get(mates, "was not seen to change")
    return (
        f"changes up to {', '.join(changes)} of its outputs when the number of splits changes, "
        f"and {batch} them with the batch mates"
    )


def _accuracy(proof: Proof) -> str:
    if not proof.error_by_splits:
        return "has no measured error"
    worst = max(point.of_bound for point in proof.error_by_splits)
    if proof.verdict(Property.ACCURATE) == "broken":
        return f"leaves the error bound of float64{_where(proof, Property.ACCURATE)}"
    return f"stays within {worst:.0%} of the error bound on ordinary inputs at every split count"


def _classes(proof: Proof) -> str:
    match proof.verdict(Property.SAME_CLASS):
        case "holds":
            return "puts NaN and infinity in the same places at every split count tried"
        case "broken":
            where = _where(proof, Property.SAME_CLASS)
            return f"changes finite answers to NaN or infinity, or back, with the splits{where}"
        case _:
            return "was not examined for NaN and infinity"


def proof_document(proof: Proof) -> JsonObject:
    """The proof as `--json` prints it."""
    return {
        "schema": SCHEMA,
        "target": proof.target,
        "outcome": "broken" if proof.broken else "holds",
        "promised": [check.value for check in proof.promised],
        "properties": [_property_document(proof, check) for check in Property],
        "split_invariance": _split_invariance_document(proof),
        "error_by_splits": [_error_document(point) for point in proof.error_by_splits],
        "conventions": {name: list(values) for name, values in proof.conventions.items()},
        "findings": [_finding_document(finding) for finding in proof.findings],
        "not_examined": list(proof.not_examined),
        "sentence": sentence(proof),
        "level": proof.level,
        "seed": proof.seed,
        "calls": proof.calls,
        "elapsed_s": round(proof.elapsed_s, 3),
        "versions": dict(proof.versions),
    }


def _property_document(proof: Proof, check: Property) -> JsonObject:
    return {
        "name": check.value,
        "meaning": MEANINGS[check],
        "promised": check in proof.promised,
        "verdict": proof.verdict(check),
        "trials": proof.trials.get(check, 0),
        "violated": proof.violated.get(check, 0),
    }


def _split_invariance_document(proof: Proof) -> JsonObject:
    many = [point for point in proof.error_by_splits if point.splits > 1]
    return {
        "bitwise": all(point.changed_share == 0 for point in many) if many else None,
        "changed_share_max": max((point.changed_share for point in many), default=None),
        "ulp_max": max((_finite(point.ulp_max) or 0.0 for point in many), default=None),
        "ulp_allowed": proof.ulp_allowed,
        "partial_dtype": proof.partial_dtype,
    }


def _error_document(point: ErrorPoint) -> JsonObject:
    return {
        "dtype": point.dtype,
        "splits": point.splits,
        "error_max": _finite(point.error_max),
        "error_rms": _finite(point.error_rms),
        "of_bound": _finite(point.of_bound),
        "changed_share": point.changed_share,
        "ulp_max": _finite(point.ulp_max),
    }


def _finding_document(finding: Finding) -> JsonObject:
    return {
        "property": finding.property.value,
        "condition": finding.condition,
        "why": finding.why,
        "broken": finding.broken,
        "dtype": finding.dtype,
        "splits": finding.splits,
        "what": finding.what,
        "input": finding.shape,
        "saved": finding.saved or None,
    }


def _where(proof: Proof, check: Property) -> str:
    """The conditions in which a property was violated, to follow what is said of it."""
    conditions = dict.fromkeys(
        finding.condition for finding in proof.findings if finding.property is check
    )
    return f" (conditions: {', '.join(conditions)})" if conditions else ""


def _finite(value: float) -> float | None:
    """The number, or null where an answer was NaN or infinite."""
    return value if math.isfinite(value) else None
