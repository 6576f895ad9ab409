"""The file of a knob and what the ledger knows of it: what every job on a knob begins with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.case.fold import fold_cases
from exonerate.core.case.records import Record
from exonerate.core.case.standing import Standing, standing_of
from exonerate.core.change.history import RecordedChange, recorded_changes, recorded_sha256
from exonerate.core.deployment.knobs import effective_value, meant_value
from exonerate.core.deployment.model import Deployment, Knob, Service
from exonerate.core.deployment.settings_error import UnprovableSetting
from exonerate.core.ports import Ledger
from exonerate.errors import ExonerateError


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobFile:
    """A knob with its file as it is now, and the changes of that file on record.

    `recorded_sha256` are the bytes that the last recorded change left; None where there is none.
    """

    knob: Knob
    service: Service
    path: Path
    content: bytes
    sha256: str
    changes: tuple[RecordedChange, ...]
    recorded_sha256: str | None
    standing: Standing | None

    @property
    def edited_since(self) -> bool:
        """Whether somebody changed the file after the last recorded change."""
        return self.recorded_sha256 not in (None, self.sha256)


def knob_named(deployment: Deployment, name: str) -> Knob:
    """The knob of that name, or of a name that ends so; raises ExonerateError."""
    exact = [knob for knob in deployment.knobs if knob.name == name]
    ending = [knob for knob in deployment.knobs if knob.name.endswith(("_" + name, "-" + name))]
    found = exact or ending
    if len(found) != 1:
        known = ", ".join(knob.name for knob in deployment.knobs) or "none"
        problem = "has no knob" if not found else "has more than one knob"
        raise ExonerateError(f"the deployment {problem} `{name}`", f"name one of: {known}")
    return found[0]


def knob_file(deployment: Deployment, knob: Knob, ledger: Ledger) -> KnobFile:
    """Read the knob's file and its history; raises ExonerateError when the file is not readable."""
    path = Path(deployment.folder) / knob.file
    content = read_bytes(path)
    records = ledger.records()
    changes = recorded_changes(records)
    service = next(service for service in deployment.services if service.name == knob.service)
    return KnobFile(
        knob=knob,
        service=service,
        path=path,
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        changes=tuple(changes),
        recorded_sha256=recorded_sha256(changes, str(path)),
        standing=standing_revert(records, knob, content),
    )


def standing_revert(records: Sequence[Record], knob: Knob, content: bytes) -> Standing | None:
    """The change of the knob that stands, judged by what the file says now.

    Where that cannot be proved, the value on record counts.
    """
    live, _ = value_or_reason(content, knob)
    interventions = [one for case in fold_cases(records) for one in case.interventions]
    interventions.sort(key=lambda one: one.planned_seq)
    found = standing_of(interventions, {} if live is None else {knob.name: live})
    return next((one for one in found if one.intervention.knob == knob.name), None)


def value_or_reason(content: bytes, knob: Knob) -> tuple[str | None, str | None]:
    """What the file sets the knob to, and why that cannot be told."""
    try:
        return meant_value(knob, effective_value(content, knob)), None
    except UnprovableSetting as refusal:
        return None, refusal.problem


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file: a pipe or a device could have no end.

    Raises:
        ExonerateError: there is none, or it cannot be read.
    """
    hint = "correct `file` of the knob, or the path"
    try:
        if path.exists() and not path.is_file():
            raise ExonerateError(f"`{path}` is not a regular file", hint)
        return path.read_bytes()
    except OSError as error:
        raise ExonerateError(f"`{path}` cannot be read: {error.strerror}", hint) from error
