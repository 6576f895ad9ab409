"""Cases from transcripts of records, without a ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from exonerate.core.case.fold import fold_cases
from exonerate.core.case.model import Case
from exonerate.core.case.records import GENESIS_HASH, Record, RecordKind, record_hash
from exonerate.core.json_types import JsonObject

Line: TypeAlias = tuple[RecordKind, JsonObject] | tuple[RecordKind, JsonObject, str]
Fold: TypeAlias = Callable[..., Case]


def chained(lines: Sequence[Line], case: str = "c1") -> list[Record]:
    """The records that appending these lines would give."""
    records: list[Record] = []
    prev = GENESIS_HASH
    for seq, line in enumerate(lines, start=1):
        kind, body, run = line if len(line) == 3 else (*line, None)
        fields: dict[str, Any] = {
            "seq": seq,
            "case": case,
            "run": run,
            "kind": kind,
            "at": f"2026-01-01T00:{seq // 60:02}:{seq % 60:02}.000000Z",
            "body": body,
            "prev": prev,
        }
        prev = record_hash(**fields)
        records.append(Record(**fields, hash=prev))
    return records


@pytest.fixture
def chain() -> Callable[..., list[Record]]:
    """Makes records of lines `(kind, body)` or `(kind, body, run)`."""
    return chained


@pytest.fixture
def folded() -> Fold:
    """Folds lines, after an opening line, into their one case."""

    def fold(*lines: Line, symptom: str = "hang", as_of: str | None = None) -> Case:
        opening: Line = ("case_opened", {"title": "The harness hangs", "symptom": symptom})
        (case,) = fold_cases(chained([opening, *lines]), as_of=as_of)
        return case

    return fold
