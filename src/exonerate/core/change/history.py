"""What the ledger knows of the files that Exonerate changed: by whom, when, to which bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from exonerate.core.case.records import Record
from exonerate.core.change.plan import ChangePlan, plan_from_body


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One change with its plan; `outcome` is None while its end is not on record."""

    plan: ChangePlan
    case: str
    planned_at: str
    outcome: str | None = None
    done_at: str | None = None

    @property
    def left_sha256(self) -> str | None:
        """The bytes the file had when the change ended; None where that is not known."""
        ends = {
            "committed": self.plan.target_sha256,
            "rolled-back": self.plan.base_sha256,
            "refused": None,
        }
        return ends.get(self.outcome or "")


def recorded_changes(records: Iterable[Record]) -> list[RecordedChange]:
    """Every change of a file, in the order in which they were planned."""
    changes: dict[str, RecordedChange] = {}
    for record in records:
        identity = str(record.body.get("id"))
        if record.kind == "intervention_planned" and "target_sha256" in record.body:
            changes[identity] = RecordedChange(
                plan=plan_from_body(record.body), case=record.case, planned_at=record.at
            )
        elif record.kind == "intervention_done" and identity in changes:
            changes[identity] = replace(
                changes[identity], outcome=str(record.body["outcome"]), done_at=record.at
            )
    return list(changes.values())


def open_changes(changes: Sequence[RecordedChange]) -> list[RecordedChange]:
    """The changes that were cut off: their end is not on record."""
    return [change for change in changes if change.outcome is None]


def recorded_sha256(changes: Sequence[RecordedChange], file: str) -> str | None:
    """The bytes that the last change left in a file; None where none is on record."""
    left = [change.left_sha256 for change in changes if change.plan.file == file]
    return next((sha256 for sha256 in reversed(left) if sha256 is not None), None)


def every_sha256(changes: Sequence[RecordedChange], file: str) -> list[str]:
    """Every state of a file that is on record, the newest first."""
    found: list[str] = []
    for change in reversed(changes):
        if change.plan.file == file:
            found += [change.plan.target_sha256, change.plan.base_sha256]
    return list(dict.fromkeys(found))
