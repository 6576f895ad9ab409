"""`read`: documents and result files as graded evidence; recorded only where a case is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exonerate.core.documents.answer import SCHEMA, source_json
from exonerate.core.documents.arms import Arm, Refused, compare_arms
from exonerate.core.documents.formats import BYTES_MAX, Options, Unreadable, read_source
from exonerate.core.documents.groups import grouped
from exonerate.core.documents.model import DecimalMark, Grade, Reading, Source
from exonerate.core.json_types import Json
from exonerate.core.ports import Clock, Ledger
from exonerate.errors import ExonerateError

FILES_MAX = 50


@dataclass(frozen=True, slots=True)
class ArmFile:
    """A file that the operator calls an arm: `--arm 512=FILE`."""

    name: str
    path: Path


def read_documents(
    paths: Sequence[Path],
    *,
    arms: Sequence[ArmFile] = (),
    across_tools: bool = False,
    decimal: DecimalMark | None = None,
    live: Mapping[str, str] | None = None,
) -> Reading:
    """Everything found in the files, graded, copies grouped.

    Args:
        paths: documents and result files.
        arms: result files that are arms of one comparison; they need not be in `paths`.
        across_tools: compare arms of different tools all the same, at grade E.
        decimal: what a comma is, where the files leave it open.
        live: facts of today's environment by kind (`gpu`, `engine`, ...), to judge staleness.

    Raises:
        ExonerateError: a file is missing, not text or too large, or the arms do not compare.
    """
    every = list(dict.fromkeys([*paths, *(arm.path for arm in arms)]))
    if len(every) > FILES_MAX:
        raise ExonerateError(
            f"{len(every)} files are too many; the limit is {FILES_MAX}", "read them in groups"
        )
    options = Options(decimal=decimal, live=live)
    sources = {path: _read_file(path, options) for path in every}
    found = list(sources.values())
    if arms:
        compared = compare_arms(
            [Arm(arm.name, sources[arm.path]) for arm in arms], across_tools=across_tools
        )
        if isinstance(compared, Refused):
            raise ExonerateError(compared.reason, compared.hint)
        found.append(compared)
    return Reading(grouped(found))


def record_reading(
    reading: Reading, *, ledger: Ledger, clock: Clock, case: str, knobs: Sequence[str] = ()
) -> list[str]:
    """Add each source with something in it to a case as evidence; returns the evidence ids.

    Sources that hold the same table share an independence group, so that a fold counts them
    once. Ids are the hash of the content, so that reading a file twice adds nothing new. A table
    speaks of a knob in `knobs` when its own name for it is that name or its end.
    """
    known = {
        str(record.body["id"])
        for record in ledger.records(case=case)
        if record.kind == "evidence_added"
    }
    groups = _evidence_groups(reading.sources)
    added = []
    for source in reading.sources:
        identity = f"document-{source.sha256[:12]}"
        if identity in known or not (source.comparisons or source.runs or source.claims):
            continue
        known.add(identity)
        body = _evidence(source, identity, groups[source.sha256], clock.wall())
        body["knob"] = _knob(source, knobs)
        ledger.append(case=case, kind="evidence_added", body=body)
        added.append(identity)
    return added


def _read_file(path: Path, options: Options) -> Source:
    content = _content(path)
    source = read_source(str(path), content, options)
    if isinstance(source, Unreadable):
        raise ExonerateError(f"cannot read `{path}`: {source.reason}", source.hint)
    return source


def _content(path: Path) -> bytes:
    """The bytes of a regular file: never a pipe or a device, which could have no end."""
    try:
        if not path.is_file():
            problem = "is not a regular file" if path.exists() else "does not exist"
            raise ExonerateError(f"`{path}` {problem}", "give a document or a result file")
        with path.open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExonerateError(f"cannot read `{path}`: {reason}", "check its permissions") from error


def _evidence(source: Source, identity: str, group: str, at: str) -> dict[str, Json]:
    grades = [comparison.grade for comparison in source.comparisons]
    best: Grade = min(grades) if grades else "E"
    return {
        "id": identity,
        "type": "document",
        "source": source.path,
        "sha256": source.sha256,
        "observed_at": at,
        "restarts": None,
        "design": "document",
        "grade": best,
        "group": group,
        "reading": {"schema": SCHEMA, "sources": [source_json(source)]},
    }


def _knob(source: Source, knobs: Sequence[str]) -> str | None:
    """The knob that a source's tables compare, by its full name where it is known."""
    named = [comparison.knob for comparison in source.comparisons if comparison.knob]
    for name in named:
        for knob in knobs:
            if knob == name or knob.endswith(("_" + name, "-" + name)):
                return knob
    return named[0] if named else None


def _evidence_groups(sources: Sequence[Source]) -> dict[str, str]:
    """An independence group per source: sources that share a table share the group."""
    leader: dict[str, str] = {}
    groups: dict[str, str] = {}
    for source in sources:
        tables = [comparison.group for comparison in source.comparisons]
        shared = next((leader[table] for table in tables if table in leader), None)
        group = shared or (tables[0] if tables else f"file-{source.sha256[:12]}")
        groups[source.sha256] = group
        leader.update(dict.fromkeys(tables, group))
    return groups
